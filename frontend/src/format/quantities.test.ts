import { describe, expect, it } from "vitest";
import {
  ago,
  bytes,
  cell,
  clock,
  cores,
  count,
  instant,
  milliseconds,
  percent,
  rate,
  ratio,
  signed,
  span,
  UNKNOWN,
  windowLength,
} from "./quantities";

describe("quantities", () => {
  it("tells unknown from zero in every formatter", () => {
    for (const format of [count, rate, cores, bytes, milliseconds, span, percent]) {
      expect(format(null)).toBe(UNKNOWN);
      expect(format(undefined)).toBe(UNKNOWN);
      expect(format(Number.NaN)).toBe(UNKNOWN);
      expect(format(0)).toMatch(/^0/);
    }
    expect(ratio(1, 0)).toBe(UNKNOWN);
    expect(clock(null)).toBe(UNKNOWN);
    expect(instant("not a time")).toBe(UNKNOWN);
  });

  it("scales counts and rates by thousands", () => {
    expect(count(7)).toBe("7");
    expect(count(999)).toBe("999");
    expect(count(999.6)).toBe("1 k");
    expect(count(12_431)).toBe("12.4 k");
    expect(count(999_999)).toBe("1 M");
    expect(rate(310)).toBe("310/s");
    expect(rate(12_400)).toBe("12.4 k/s");
    expect(rate(0.256)).toBe("0.26/s");
    expect(rate(0.05)).toBe("3/min");
    expect(rate(0.0104)).toBe("37.4/h");
    expect(count(0.00213)).toBe("0.0021");
    expect(count(0.05)).toBe("0.05");
  });

  it("writes millionths of a core as cores", () => {
    expect(cores(420_000)).toBe("0.42 cores");
    expect(cores(12_400_000)).toBe("12.4 cores");
    expect(cores(2100)).toBe("0.0021 cores");
    expect(cores(4.5)).toBe("4.5 µcores");
    expect(cores(0)).toBe("0 cores");
  });

  it("scales bytes by 1024", () => {
    expect(bytes(512)).toBe("512 B");
    expect(bytes(327_155_712)).toBe("312 MB");
    expect(bytes(1536)).toBe("1.5 KB");
  });

  it("writes spans in at most two units", () => {
    expect(milliseconds(85)).toBe("85 ms");
    expect(milliseconds(999.7)).toBe("1 s");
    expect(milliseconds(1250)).toBe("1.25 s");
    expect(milliseconds(61_000)).toBe("1 min 1 s");
    expect(span(5_400_000)).toBe("1 h 30 min");
    expect(span(86_400_000)).toBe("1 d");
    expect(span(3_605_000)).toBe("1 h");
    expect(windowLength(null)).toBe("unbounded");
  });

  it("signs differences", () => {
    expect(signed(0.18, percent)).toBe("+18 %");
    expect(signed(-2, count)).toBe("−2");
    expect(signed(0, count)).toBe("±0");
    expect(ratio(131, 120)).toBe("×1.09");
  });

  it("shows times in UTC", () => {
    expect(clock("2013-01-05T12:04:31+02:00")).toBe("10:04:31");
    expect(instant("2013-01-05T12:04:31Z")).toBe("2013-01-05 12:04:31");
    expect(ago("2013-01-05T12:00:00Z", Date.parse("2013-01-05T12:00:12Z"))).toBe("12 s ago");
  });

  it("writes NULL like SQL", () => {
    expect(cell(null)).toBe("NULL");
    expect(cell("")).toBe("");
    expect(cell(0.1 + 0.2)).toBe("0.3");
  });
});
