import { describe, expect, it } from "vitest";
import { parametersOf, placeOfDeclaration, undeclared } from "./parameters";

const TEXT =
  "-- Windy.\n-- :wind = 20\n--:place='JFK'\n\n" +
  "SELECT w.at FROM weather AS w WHERE w.wind > :wind AND w.airport = :place -- :no = 1\n";

describe("parameters", () => {
  it("are the declarations above the query, with the places of their values", () => {
    const found = parametersOf(TEXT);
    expect(found.map(({ name, value }) => [name, value])).toEqual([
      ["wind", "20"],
      ["place", "'JFK'"],
    ]);
    for (const { value, from, to } of found) expect(TEXT.slice(from, to)).toBe(value);
  });

  it("have a place even without a value", () => {
    const text = "-- :wind =\nSELECT 1";
    const [only] = parametersOf(text);
    expect(only?.value).toBe("");
    expect(`${text.slice(0, only?.from)} 5${text.slice(only?.to)}`).toBe("-- :wind = 5\nSELECT 1");
  });

  it("are asked for where the text uses one that it does not declare", () => {
    expect(undeclared(TEXT)).toEqual([]);
    expect(
      undeclared(
        "-- :a = 1\n" +
          "SELECT x FROM s WHERE x > :A AND x < :b AND x <> :B AND y = ':c' AND z::int > 1 /* :d */ -- :e",
      ),
    ).toEqual(["b"]);
  });

  it("are declared behind the others, or first of all", () => {
    expect(TEXT.slice(0, placeOfDeclaration(TEXT))).toBe("-- Windy.\n-- :wind = 20\n--:place='JFK'\n");
    expect(placeOfDeclaration("SELECT 1")).toBe(0);
  });
});
