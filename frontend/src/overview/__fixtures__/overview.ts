import documents from "../../__fixtures__/documents.json";
import type { Correctness, OverviewDocument, TopologyDocument, WatchedTopology } from "../../api/documents";

export const NOW = "2026-11-21T00:30:00Z";

/** Seconds before now, as the server writes it. */
export const before = (seconds: number): string => new Date(Date.parse(NOW) - seconds * 1000).toISOString();

export type Point = WatchedTopology["history"][number];

export const point = (batch: number, age: number, news: Partial<Point> = {}): Point => ({
  batch,
  at: before(age),
  epoch: 1,
  seconds: 0.2,
  tuples_in: 40,
  backlog: 0,
  results: 10,
  latency_ms_p50: 100,
  latency_ms_p99: 400,
  state_bytes: 0,
  state_tuples: 0,
  level_seconds: [],
  ...news,
});

export const EQUAL: Correctness = {
  differed_at: null,
  newest: {
    at: before(30),
    topology: "flights",
    version: 1,
    plan_id: "P",
    verdict: "equal",
    reason: null,
    first_batch: 1,
    last_batch: 9,
    event_from: null,
    event_to: null,
    tuples: 100,
    results: 10,
    expected: 10,
    compared: 10,
    missing: 0,
    extra: 0,
    missing_rows: [],
    extra_rows: [],
    share: 1,
    seconds: 0.1,
  },
};

/** A topology that runs, is heard, reads what comes, and was checked. */
export function watched(
  news: Partial<WatchedTopology> = {},
  topology: Partial<TopologyDocument> = {},
): WatchedTopology {
  const queries = [
    { id: 7, name: "windy", version: 1, suspended: null, correctness: EQUAL, applied: null, pinned: null },
  ] as TopologyDocument["queries"];
  const base = documents.topologies[0] as unknown as TopologyDocument;
  return {
    topology: { ...base, waiting: null, cost: "cores", queries, ...topology },
    heartbeat_at: before(1),
    given_up: null,
    failed_batch: null,
    waiting_batch: null,
    history: [point(1, 4), point(2, 2)],
    ...news,
  };
}

export const overview = (...topologies: readonly WatchedTopology[]): OverviewDocument => ({
  at: NOW,
  topologies: [...topologies],
  results: [],
  dead_letters: [],
  own: { streams: 3, queries: 1, deployed: 1 },
});
