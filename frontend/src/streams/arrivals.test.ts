import { expect, it } from "vitest";
import type { ArrivalPoint } from "../api/documents";
import { latenessSeries, rateSeries } from "./arrivals";

const point = (changes: Partial<ArrivalPoint>): ArrivalPoint => ({
  batch: 1,
  at: "2026-01-01T00:00:00Z",
  seconds: 2,
  accepted: 10,
  late: 1,
  undecodable: 0,
  newest: "2026-01-01T00:10:00Z",
  watermark: "2026-01-01T00:05:00Z",
  behind_ms: 0,
  ...changes,
});

it("rates are per second between commits, unknown where the commit before is", () => {
  const [accepted, late, undecodable] = rateSeries(
    [point({ seconds: null }), point({}), point({ seconds: 0.5, undecodable: 3 })],
    "red",
  );
  expect(accepted?.values).toEqual([null, 5, 20]);
  expect(late?.values).toEqual([null, 0.5, 2]);
  expect(undecodable?.values).toEqual([null, 0, 6]);
});

it("lateness is unknown before the first tuple, not zero", () => {
  const [behind, allowed] = latenessSeries(
    [point({ newest: null, watermark: null, behind_ms: null }), point({ behind_ms: 60_000 })],
    "red",
  );
  expect(behind?.values).toEqual([null, 60_000]);
  expect(allowed?.values).toEqual([null, 300_000]);
});
