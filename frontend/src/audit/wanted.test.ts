import { expect, test } from "vitest";
import { ANYTHING, addressOf, narrows, queryOf, wantedOf } from "./wanted";

test("what is looked for survives a reload of the page", () => {
  const wanted = { ...ANYTHING, text: "wind & weather", who: "ann", to: "2026-11-27" };
  expect(wantedOf(addressOf(wanted))).toEqual(wanted);
  expect(addressOf(ANYTHING)).toBe("");
  expect(wantedOf("?kind=query&unknown=1")).toEqual({ ...ANYTHING, kind: "query" });
});

test("the last day is looked for to its end", () => {
  expect(queryOf({ ...ANYTHING, from: "2026-02-28", to: "2026-02-28" })).toEqual({
    since: "2026-02-28T00:00:00.000Z",
    until: "2026-03-01T00:00:00.000Z",
  });
});

test("what was not said is not asked", () => {
  expect(queryOf(ANYTHING)).toEqual({});
  expect(queryOf({ ...ANYTHING, who: " ann ", team: "  ", from: "soon" })).toEqual({ who: "ann" });
  expect([narrows(ANYTHING), narrows({ ...ANYTHING, verb: "deploy" })]).toEqual([false, true]);
});
