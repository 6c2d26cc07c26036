import { expect, it } from "vitest";
import { choices, drawn, fewer, firstChart } from "./chart";

const COLUMNS = [
  { name: "tail", type: "string" },
  { name: "delay", type: "decimal(10,2)" },
  { name: "at", type: "timestamp" },
];

it("draws the first number over the first time", () => {
  expect(firstChart(COLUMNS)).toEqual({ mark: "dots", x: "at", y: "delay", colour: null });
});

it("counts results where there is no number or no time", () => {
  expect(firstChart(COLUMNS.slice(0, 1))).toEqual({ mark: "count", x: "tail", y: null, colour: null });
  expect(firstChart(COLUMNS.slice(0, 2))).toEqual({ mark: "count", x: "delay", y: null, colour: null });
  expect(firstChart([])).toBeNull();
});

it("offers times first across, and numbers only upwards", () => {
  expect(choices(COLUMNS)).toEqual({ x: ["at", "delay", "tail"], y: ["delay"], colour: ["tail"] });
});

it("keeps what is missing apart from zero", () => {
  expect(drawn(null, "double")).toBeNull();
  expect(drawn("1.50", "decimal(10,2)")).toBe(1.5);
  expect(drawn("2013-01-01T10:00:00Z", "timestamp")).toEqual(new Date(Date.UTC(2013, 0, 1, 10)));
  expect(drawn("soon", "timestamp")).toBeNull();
});

it("has no more colours than can be told apart", () => {
  expect(fewer(["a", "b", "a", null], 3)).toEqual(["a", "b", "a", "NULL"]);
  expect(fewer(["a", "b", "a", "c", "b", "d"], 3)).toEqual(["a", "b", "a", "others", "b", "others"]);
});
