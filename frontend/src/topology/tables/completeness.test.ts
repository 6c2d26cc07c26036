import { expect, it } from "vitest";
import { completeness } from "./completeness";

const WINDOWED = [{ window_us: 60_000_000 }, { window_us: 1 }];
const UNBOUNDED = [{ window_us: 60_000_000 }, { window_us: null }];

it("a window fills, a store without one that missed tuples never does", () => {
  expect(completeness(WINDOWED, { complete_since: null, joining: [] }).text).toBe("its window is filling");
  const never = completeness(UNBOUNDED, { complete_since: null, joining: [] });
  expect(never.text).toContain("never");
  expect(never.advice).toContain("Lost checkpoint");
});

it("what is complete says since when, and unknown is a dash", () => {
  for (const inputs of [WINDOWED, UNBOUNDED]) {
    expect(completeness(inputs, { complete_since: "2026-01-01T00:00:00Z", joining: [] })).toEqual({
      text: "2026-01-01 00:00:00 UTC",
      advice: "",
    });
    expect(completeness(inputs, undefined).text).toBe("–");
  }
});

it("a stream that joins is named while it is read", () => {
  const joins = completeness(UNBOUNDED, { complete_since: null, joining: ["orders"] });
  expect(joins.text).toBe("reading what orders had before");
});
