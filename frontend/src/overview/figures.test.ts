import { expect, it } from "vitest";
import { before, NOW, point, watched } from "./__fixtures__/overview";
import { figuresOf } from "./figures";

it("tells rates, lag and latency of a job that works", () => {
  const history = [point(1, 4), point(2, 2, { backlog: 80 })];
  // 40 tuples in the three seconds since the first batch, up to the heartbeat.
  const figures = figuresOf(watched({ history }), NOW);
  expect(figures.tuplesIn).toBeCloseTo(40 / 3);
  expect(figures.results).toBeCloseTo(10 / 3);
  expect(figures.lag).toBeCloseTo(6);
});

it("leaves open what a job that does not work would do", () => {
  for (const state of ["failed", "stopped", "starting"] as const)
    expect(Object.values(figuresOf(watched({}, { state }), NOW))).toEqual([null, null, null, null, null]);
});

it("takes the newest batch's latencies, which are those of a minute, as long as they hold", () => {
  const history = [
    point(1, 40, { latency_ms_p50: 500, latency_ms_p99: 700 }),
    point(2, 4, { latency_ms_p50: 50, latency_ms_p99: 60 }),
  ];
  expect(figuresOf(watched({ history }), NOW)).toMatchObject({ p50: 50, p99: 60 });
  const quiet = watched({ history: [point(1, 61)], heartbeat_at: before(1) });
  expect(figuresOf(quiet, NOW)).toMatchObject({ p50: null, p99: null, tuplesIn: null });
});
