import { expect, it } from "vitest";
import { hitRateText } from "./hitRate";

it("says how many forecasts held, and nothing of none", () => {
  expect(hitRateText({ judged: 14, held: 12 })).toBe("of 14 forecasts, 12 held (86 %)");
  expect(hitRateText({ judged: 1, held: 0 })).toBe("of 1 forecast, 0 held (0 %)");
  expect(hitRateText({ judged: 0, held: 0 })).not.toContain("0");
});
