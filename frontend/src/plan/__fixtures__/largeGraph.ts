/**
 * A made-up plan of any size, for tests of what large plans cost to draw. Equal arguments give equal plans.
 */
import { type BatchCompleted, batchCompleted } from "../../live/messages";
import type { PhysicalGraph } from "../physicalGraph";

const STREAMS = 30;

/**
 * Every query joins three neighbouring stores, from each of its streams: three sources, six probes.
 *
 * @example largeGraph(300, 200) has 300 stores, 200 queries and 1,200 probe edges
 */
export function largeGraph(stores: number, queries: number): PhysicalGraph {
  const stream = (store: number): string => `stream${store % STREAMS}`;
  const input = (store: number): string => `in${store}`;
  const graph: PhysicalGraph = {
    version: 1,
    method: "greedy",
    streams: [],
    stores: [],
    edges: [],
    rules: [],
    queries: [],
    estimates: [],
    functions: [],
    holds: [],
  };
  for (let i = 0; i < STREAMS; i += 1) {
    graph.streams.push({
      name: `stream${i}`,
      event_time: "at",
      columns: [
        ["at", "timestamp"],
        ["k", "int"],
      ],
      lateness_us: 0,
      late: "drop",
      derived: null,
      max_ahead_us: null,
    });
  }
  const sources = Array.from({ length: stores }, (_, i) => ({
    kind: "source" as const,
    id: `R${i}`,
    stream: stream(i),
    input: input(i),
    filter: null,
    out: [`E${i}`],
    emits: [],
  }));
  for (let i = 0; i < stores; i += 1) {
    graph.stores.push({
      id: `S${i}`,
      label: `${stream(i)}[k${i}]`,
      inputs: [{ input: input(i), stream: stream(i), columns: ["at", "k"] }],
      partitioning: null,
      tasks: 4,
      retention_us: [60_000_000],
      key: [],
    });
    graph.edges.push({
      id: `E${i}`,
      origin: `R${i}`,
      target: `S${i}`,
      kind: "shuffle",
      key: null,
      level: 1,
      columns: [],
    });
    graph.rules.push({ kind: "store", id: `T${i}`, edge: `E${i}`, store: `S${i}` });
    graph.estimates.push({ id: `E${i}`, tuples_per_second: 10 + i, tuples: null, cost: 10 + i });
  }
  for (let q = 0; q < queries; q += 1) {
    const members = [0, 1, 2].map((step) => (q + step) % stores);
    graph.queries.push({
      name: `query${q}`,
      sql: "SELECT 1",
      outputs: [["k", "int"]],
      marks_late: false,
      key: null,
      inputs: members.map((store) => ({
        alias: `a${store}`,
        input: input(store),
        stream: stream(store),
        window_us: 60_000_000,
      })),
    });
    members.forEach((start, turn) => {
      const [first, second] = [members[(turn + 1) % 3] ?? 0, members[(turn + 2) % 3] ?? 0];
      const probe = (id: string, edge: string, store: number, out: string[], emits: boolean): void => {
        graph.rules.push({
          kind: "probe",
          id,
          edge,
          store: `S${store}`,
          start: input(start),
          bound: [],
          newest: [],
          renames: [],
          equalities: [],
          predicates: [],
          windows: [],
          out,
          emits: emits ? [{ query: `query${q}`, residuals: [], windows: [], outputs: [] }] : [],
        });
      };
      const [one, two] = [`E${q}-${turn}-1`, `E${q}-${turn}-2`];
      sources[start]?.out.push(one);
      graph.edges.push({
        id: one,
        origin: `R${start}`,
        target: `S${first}`,
        kind: "all",
        key: null,
        level: 1,
        columns: [],
      });
      graph.edges.push({
        id: two,
        origin: `P${q}-${turn}-1`,
        target: `S${second}`,
        kind: "all",
        key: null,
        level: 2,
        columns: [],
      });
      probe(`P${q}-${turn}-1`, one, first, [two], false);
      probe(`P${q}-${turn}-2`, two, second, [], true);
      graph.estimates.push(
        { id: one, tuples_per_second: 5, tuples: null, cost: 20 },
        { id: two, tuples_per_second: 1, tuples: null, cost: 4 },
      );
    });
  }
  graph.rules.unshift(...sources);
  return graph;
}

/** A batch of a plan, with numbers that differ from batch to batch. */
export function largeBatch(graph: PhysicalGraph, number: number): BatchCompleted {
  const at = new Date(Date.UTC(2026, 0, 1) + number * 500).toISOString();
  return batchCompleted.parse({
    type: "batch",
    version: 1,
    run: "a1",
    at,
    batch: number,
    epoch: 1,
    plan_id: "large",
    seconds: 0.2,
    tuples_in: 5000,
    backlog: 0,
    level_seconds: [0.1, 0.1, 0.1],
    streams: Object.fromEntries(
      graph.streams.map((stream) => [
        stream.name,
        { accepted: 100 + number, late: 0, undecodable: 0, watermark: at, max_event_time: at },
      ]),
    ),
    stores: Object.fromEntries(
      graph.stores.map((store, i) => [
        store.id,
        {
          tuples: 1000 + i + number,
          bytes: 96_000,
          inserted: 10,
          evicted: 9,
          probes: 40,
          matches: 12,
          per_task: [250, 250, 250 + i, 250 + number],
        },
      ]),
    ),
    edges: Object.fromEntries(
      graph.edges.map((edge, i) => [edge.id, { tuples: (i * 7 + number) % 900, messages: 4, bytes: 1000 }]),
    ),
    queries: Object.fromEntries(
      graph.queries.map((query) => [
        query.name,
        { results: number, latency_ms_p50: 20, latency_ms_p99: 90, complete_since: null },
      ]),
    ),
  });
}
