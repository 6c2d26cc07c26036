import { expect, it } from "vitest";
import { timeTick } from "./timeTick";

it.each([
  ["2026-01-01T00:00:00Z", "2026"],
  ["2026-11-06T00:00:00Z", "Nov 6"],
  ["2026-11-26T16:00:00Z", "16:00"],
  ["2026-11-26T04:05:00Z", "04:05"],
  ["2026-11-26T16:00:05Z", "16:00:05"],
  ["2026-11-26T16:00:05.250Z", "05.250"],
])("says of %s no more than the tick is", (at, told) => {
  expect(timeTick(new Date(at))).toBe(told);
});
