import { describe, expect, it } from "vitest";
import { readSample } from "./sampleRows";
import { behindOf, columnsOfSample, droppedBy, latenessFor, momentOf } from "./sampleTypes";

const types = (text: string): Record<string, string> =>
  Object.fromEntries(columnsOfSample(readSample(text)).map(({ name, type }) => [name, type]));

describe("types", () => {
  it("come from what is written, not from what JavaScript makes of it", () => {
    expect(types('{"a": 10.0, "b": 10, "c": "10", "d": true, "e": null, "f": 1e3}')).toEqual({
      a: "double",
      b: "bigint",
      c: "string",
      d: "boolean",
      e: "string",
      f: "double",
    });
  });

  it("keep huge integers whole as far as a type holds them", () => {
    expect(types('[{"a": 9223372036854775807, "b": 9223372036854775808}]')).toEqual({
      a: "bigint",
      b: "double",
    });
    expect(types("a,b\n9223372036854775807,9223372036854775808")).toEqual({ a: "bigint", b: "string" });
  });

  it("are those that take all values", () => {
    const lines = [
      '{"a": 1, "b": 1, "c": "2026-01-01", "d": "2026-01-01"}',
      '{"a": 1.5, "b": "x", "c": "2026-01-01T10:00", "d": "2026-01-02", "e": 3}',
    ];
    expect(types(lines.join("\n"))).toEqual({
      a: "double",
      b: "string",
      c: "timestamp",
      d: "date",
      e: "bigint",
    });
  });

  it("leave numbers within texts alone", () => {
    const { rows } = readSample('[{"a": "gate 12, \\"3.0\\"", "b": -1.50}]');
    expect(rows[0]?.get("a")).toEqual({ kind: "text", text: 'gate 12, "3.0"' });
    expect(rows[0]?.get("b")).toEqual({ kind: "number", text: "-1.50" });
  });
});

describe("a sample", () => {
  it("may be CSV with quotes and gaps", () => {
    expect(
      types('at,gate,delay,open\n2026-01-01 10:00:00,"A, 1",10.0,true\n2026-01-01 10:01:00,B,,false'),
    ).toEqual({ at: "timestamp", gate: "string", delay: "double", open: "boolean" });
  });

  it("may be one JSON object over several lines", () => {
    expect(types('{\n  "a": 1\n}')).toEqual({ a: "bigint" });
  });

  it.each([
    ["at,gate", "no tuple"],
    ["at,gate\n1,2,3", "Tuple 1 has 3 values, the line of names 2."],
    ['{"a": 1}\n{"a": }', "Line 2 is no JSON."],
    ['{"a": {"b": 1}}', "a holds an object or a list"],
    ["[1]", "Tuple 1 is no JSON object."],
    [`a\n${"1\n".repeat(600_000)}`, "longer than 1 MB"],
  ])("says what is wrong with %.20s", (text, problem) => {
    expect(() => readSample(text)).toThrow(problem);
  });
});

describe("lateness", () => {
  const at = (seconds: number): string =>
    `{"at": "${new Date(1_767_261_600_000 + seconds * 1000).toISOString()}"}`;
  const behind = behindOf(readSample([0, 60, 30, 59.5, 61].map(at).join("\n")), "at");

  it("is what each tuple is behind the newest before it", () => {
    expect(behind).toEqual([0, 0, 30, 0.5, 0]);
  });

  it("is suggested so that it drops none, and not below the least", () => {
    expect(latenessFor(behind, 5)).toBe(30);
    expect(latenessFor([0, 0.5], 5)).toBe(5);
    expect(droppedBy(behind, 30)).toBe(0);
    expect(droppedBy(behind, 29)).toBe(1);
    expect(droppedBy(behind, 0)).toBe(2);
  });

  it("is found for more tuples than a call takes arguments", () => {
    expect(latenessFor(new Array<number>(300_000).fill(7), 5)).toBe(7);
  });

  it("takes timestamps without a zone as UTC", () => {
    expect(momentOf("2026-01-01 10:00:00")).toBe(Date.parse("2026-01-01T10:00:00Z"));
    expect(momentOf("2026-01-01T10:00:00+02:00")).toBe(Date.parse("2026-01-01T08:00:00Z"));
    expect(momentOf("2026-13-01T10:00:00Z")).toBeNull();
    expect(momentOf("gate 12")).toBeNull();
  });
});
