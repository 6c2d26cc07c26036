import { expect, it } from "vitest";
import { MOST_TUPLES, partsOf } from "./sentRows";

const STREAM = {
  name: "orders",
  columns: [
    { name: "at", type: "timestamp" },
    { name: "id", type: "bigint" },
    { name: "total", type: "decimal(12,2)" },
    { name: "paid", type: "boolean" },
    { name: "who", type: "string" },
  ],
} as unknown as Parameters<typeof partsOf>[1];
const lines = (text: string) => partsOf(text, STREAM).flatMap((part) => part.lines);

it("gives CSV's texts the types of their columns, and keeps all digits", () => {
  expect(
    lines("at,id,total,paid,who\n2026-01-01T10:00:00Z,9007199254740993,10.50,TRUE,007\n2026-01-01,2,,false,"),
  ).toEqual([
    '{"at":"2026-01-01T10:00:00Z","id":9007199254740993,"total":10.50,"paid":true,"who":"007"}',
    '{"at":"2026-01-01","id":2,"total":null,"paid":false,"who":null}',
  ]);
});

it("leaves JSON as it was written", () => {
  expect(lines('{"id": 12345678901234567890, "who": "\\"a\\""}\n{"paid": null, "total": 1.0}')).toEqual([
    '{"id":12345678901234567890,"who":"\\"a\\""}',
    '{"paid":null,"total":1.0}',
  ]);
});

it.each([
  ["id,who\n1,a\nx,b", "Tuple 2, id: found x, expected a bigint."],
  ["id,who\n1e,a", "Tuple 1, id: found 1e, expected a bigint."],
  ["paid\nyes", "Tuple 1, paid: found yes, expected a boolean."],
  ["id,size\n1,2", "orders has no column size; it has at, id, total, paid, who."],
  ["id,who\n1", "Tuple 1 has 1 values, the line of names 2."],
  ["id", "There is no tuple in it."],
  ["[1]", "Tuple 1 is no JSON object."],
  ["{1}", "Line 1 is no JSON."],
])("refuses %j in one line", (text, problem) => {
  expect(() => lines(text)).toThrow(problem);
});

it("sends a long file in parts, and one that is too long not at all", () => {
  const rows = (n: number) => `id\n${Array.from({ length: n }, (_, i) => i).join("\n")}`;
  const parts = partsOf(rows(4500), STREAM);
  expect(parts.map(({ first, lines: { length } }) => [first, length])).toEqual([
    [0, 2000],
    [2000, 2000],
    [4000, 500],
  ]);
  expect(parts[2]?.lines[0]).toBe('{"id":4000}');
  const wide = partsOf(`who\n${"x".repeat(600_000)}\n${"y".repeat(600_000)}`, STREAM);
  expect(wide.map(({ first }) => first)).toEqual([0, 1]);
  expect(() => partsOf(rows(MOST_TUPLES + 1), STREAM)).toThrow("at most 50000 are sent from here");
});
