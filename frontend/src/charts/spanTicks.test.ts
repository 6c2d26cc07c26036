import { expect, it } from "vitest";
import { span } from "../format/quantities";
import { spanTicks } from "./spanTicks";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it("counts in what people count in", () => {
  expect(spanTicks(83 * MINUTE, 3).map(span)).toEqual([span(0), "30 min", "1 h"]);
  expect(spanTicks(5 * MINUTE, 3).map(span)).toEqual([span(0), "2 min", "4 min"]);
  expect(spanTicks(45_000, 3).map(span)).toEqual([span(0), "15 s", "30 s", "45 s"]);
  expect(spanTicks(30 * HOUR, 3).map(span)).toEqual([span(0), "12 h", "1 d"]);
  expect(spanTicks(90 * 24 * HOUR, 3).map(span)).toEqual([span(0), "50 d"]);
  expect(spanTicks(300, 3).map(span)).toEqual([span(0), "100 ms", "200 ms", "300 ms"]);
});

it("gives few, and none beyond the end", () => {
  for (let most = 1; most < 1e11; most *= 1.37) {
    const ticks = spanTicks(most, 3);
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    expect(ticks.length).toBeLessThanOrEqual(4);
    expect(ticks.at(-1)).toBeLessThanOrEqual(most);
  }
  expect(spanTicks(0, 3)).toEqual([0]);
});
