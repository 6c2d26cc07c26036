import { expect, it } from "vitest";
import { fieldText, fieldTime, isLonger, PRESETS, rangeOf, wholeOf } from "./range";

const NOW = Date.parse("2026-11-26T12:00:00Z");
const [FROM, TO] = ["2026-11-21T10:00Z", "2026-11-22T10:00Z"];

it("reads the address, and passes over what is none", () => {
  expect(rangeOf("week", null, null)).toEqual({ past: "week", zoom: null });
  expect(rangeOf("decade", FROM, TO)).toEqual({
    past: "day",
    zoom: { from: Date.parse(FROM), to: Date.parse(TO) },
  });
  expect(rangeOf(null, TO, FROM).zoom).toBeNull();
  expect(rangeOf(null, "yesterday", TO).zoom).toBeNull();
  expect(rangeOf(null, FROM, null).zoom).toBeNull();
});

it("lies over the preset's time, or over a longer one if that is looked at", () => {
  expect(wholeOf(rangeOf("week", null, null), NOW)).toEqual({ from: NOW - PRESETS.week, to: NOW });
  expect(wholeOf(rangeOf("week", FROM, TO), NOW)).toEqual({ from: NOW - PRESETS.week, to: NOW });
  const longer = rangeOf("hour", FROM, TO);
  expect(isLonger(longer, NOW)).toBe(true);
  expect(wholeOf(longer, NOW)).toEqual({ from: Date.parse(FROM), to: NOW });
  const ancient = wholeOf(rangeOf("hour", "1970-01-01T00:00Z", TO), NOW);
  expect(ancient.from, "nothing is kept for longer").toBe(NOW - 400 * PRESETS.day);
});

it("has fields in UTC, wherever the reader is", () => {
  expect(fieldText(NOW + 59_000)).toBe("2026-11-26T12:00");
  expect(fieldTime("2026-11-26T12:00")).toBe(NOW);
  expect(fieldTime("")).toBeNull();
});
