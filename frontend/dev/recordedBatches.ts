/** Batches as a job would report them for a graph; numbers follow from the batch number alone. */
import type { BatchCompleted, HistoryPoint } from "../src/live/messages";
import { historyPoint } from "../src/live/reduce.ts";
import type { PhysicalGraph } from "../src/plan/physicalGraph";

const STEP_MS = 500;

function wave(batch: number, phase: number, base: number): number {
  return Math.round(base * (1 + 0.3 * Math.sin(batch / 4 + phase) + 0.08 * Math.sin(batch * 2.7 + phase * 3)));
}

export function recordedBatch(graph: PhysicalGraph, batch: number, at = Date.now()): BatchCompleted {
  return {
    type: "batch",
    version: 1,
    run: "0193f5a1c0de4f2a",
    at: new Date(at).toISOString(),
    batch,
    epoch: batch < 27 ? 1 : 2,
    plan_id: "P-1f0c9a",
    seconds: wave(batch, 0, 210) / 1000,
    tuples_in: wave(batch, 1, 6200),
    backlog: wave(batch, 2, 900),
    level_seconds: [0.06, 0.09, 0.05],
    streams: Object.fromEntries(
      graph.streams.map(({ name }, i) => [
        name,
        { accepted: wave(batch, i, i === 2 ? 240 : 3000), late: batch % 7 === 0 ? 2 : 0, undecodable: 0, watermark: new Date(Date.UTC(2013, 0, 1, 0, batch * 10 - 5)).toISOString(), max_event_time: new Date(Date.UTC(2013, 0, 1, 0, batch * 10)).toISOString() },
      ]),
    ),
    stores: Object.fromEntries(
      graph.stores.map(({ id, tasks }, i) => {
        const perTask = Array.from({ length: tasks }, (_, task) => wave(batch, task * 1.3 + i, i === 2 ? 60 : 4200 + task * 700));
        const tuples = perTask.reduce((sum, one) => sum + one, 0);
        return [id, { tuples, bytes: tuples * 96, inserted: wave(batch, i, i === 2 ? 240 : 3000), evicted: wave(batch, i + 1, i === 2 ? 230 : 2900), probes: wave(batch, i + 2, 4800), matches: wave(batch, i + 3, 900), per_task: perTask }];
      }),
    ),
    edges: Object.fromEntries(graph.edges.map(({ id }, i) => [id, { tuples: wave(batch, i, 3000 / (1 + (i % 4) * 3)), messages: 8, bytes: 120_000 }])),
    queries: Object.fromEntries(
      graph.queries.map(({ name }, i) => [
        name,
        { results: i === 1 ? 0 : wave(batch, i, 40), latency_ms_p50: i === 1 ? null : wave(batch, i, 240), latency_ms_p99: i === 1 ? null : wave(batch, i, 610), complete_since: i === 3 ? null : "2013-01-01T03:00:00Z" },
      ]),
    ),
  };
}

export function recordedHistory(graph: PhysicalGraph, last: number): HistoryPoint[] {
  const now = Date.now();
  return Array.from({ length: last + 1 }, (_, batch) => historyPoint(recordedBatch(graph, batch, now - (last - batch) * STEP_MS)));
}
