import { describe, expect, it } from "vitest";
import { type Choice, chooseRows } from "./chosenRows";

interface Row {
  readonly name: string;
  readonly size: number | null;
}

const rows: readonly Row[] = [
  { name: "s10", size: 4 },
  { name: "s2", size: null },
  { name: "s1", size: 0 },
  { name: "t", size: 9 },
];
const all: Choice<Row> = { sought: "", by: null, falling: false, most: 50 };
const name = (row: Row): string => row.name;
const size = (row: Row): number | null => row.size;
const names = (choice: Partial<Choice<Row>>): string[] =>
  chooseRows(rows, { ...all, ...choice }, name).rows.map(name);

describe("rows of a long table", () => {
  it("keep their order until a column is asked for", () => {
    expect(names({})).toEqual(["s10", "s2", "s1", "t"]);
    expect(names({ by: name })).toEqual(["s1", "s2", "s10", "t"]);
  });
  it("that are unknown come last in both directions, and zero is known", () => {
    expect(names({ by: size })).toEqual(["s1", "s10", "t", "s2"]);
    expect(names({ by: size, falling: true })).toEqual(["t", "s10", "s1", "s2"]);
  });
  it("are counted before they are cut off", () => {
    const chosen = chooseRows(rows, { ...all, sought: " S", by: size, falling: true, most: 1 }, name);
    expect(chosen).toEqual({ rows: [rows[0]], found: 3 });
  });
});
