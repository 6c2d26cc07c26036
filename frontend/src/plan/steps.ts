/** A plan's steps, streams and stores as rows of numbers: what was expected beside what happened. Pure. */
import type { BatchCompleted, CoreUse, EpochCompleted } from "../live/messages";
import { estimatedRates, estimatedTuples } from "./estimates";
import type { Edge, GraphStore, PhysicalGraph, Rule } from "./physicalGraph";

export interface Compared {
  /** Tuples per second of event time, or tuples held; null if nothing was expected. */
  readonly estimated: number | null;
  /** Null before the first epoch of the plan is over. */
  readonly actual: number | null;
  /** The larger over the smaller, so 1 is exact; null unless both are known. */
  readonly qError: number | null;
}

export interface StepRow {
  /** The receiving rule's id. */
  readonly id: string;
  /** Under which id its cost stands: the rule, or the store that it fills. */
  readonly priced: string;
  readonly level: number;
  readonly from: string;
  readonly to: string;
  readonly what: "stores" | "probes";
  readonly kind: Edge["kind"];
  /** In the newest batch; null before one under this plan. */
  readonly tuples: number | null;
  readonly messages: number | null;
  readonly bytes: number | null;
  readonly sent: Compared;
  /** What a probe makes of what it is sent; all unknown for a step that stores. */
  readonly made: Compared;
  /** Null before an epoch is over, and for a step that stores: its work is its store's. */
  readonly cores: CoreUse | null;
}

/**
 * Fewer tuples than this cannot be told apart: the same rule as the job's (`jobs.recovery.epochs.q_error`).
 */
const LEAST_TUPLES = 0.5;

/** `compare(2, 8, 10)`: q-error 4. Both sides are at least half a tuple in the span. */
export function compare(
  estimated: number | null | undefined,
  actual: number | null | undefined,
  seconds: number,
): Compared {
  const known =
    estimated !== null && estimated !== undefined && actual !== null && actual !== undefined && seconds > 0;
  const least = LEAST_TUPLES / seconds;
  const [expected, happened] = [Math.max(estimated ?? 0, least), Math.max(actual ?? 0, least)];
  return {
    estimated: estimated ?? null,
    actual: actual ?? null,
    qError: known ? Math.max(expected / happened, happened / expected) : null,
  };
}

function labelOf(rule: Rule | undefined, stores: ReadonlyMap<string, GraphStore>): string {
  if (rule === undefined) return "";
  if (rule.kind === "source") return rule.filter === null ? rule.input : `σ ${rule.input}`;
  if (rule.kind === "due" || rule.kind === "settle" || rule.kind === "aggregate") return rule.hold;
  if (rule.kind === "probe") return [...rule.bound, ...rule.renames.map(([, name]) => name)].join(" ⋈ ");
  return stores.get(rule.store)?.label ?? rule.store;
}

function storesOf(graph: PhysicalGraph): ReadonlyMap<string, GraphStore> {
  return new Map(graph.stores.map((store) => [store.id, store]));
}

/** One row per rule that receives something, by level. `statistics` of another plan tell nothing. */
export function stepRows(
  graph: PhysicalGraph,
  batch: BatchCompleted | null,
  statistics: EpochCompleted | null,
): StepRow[] {
  const rules = new Map(graph.rules.map((rule) => [rule.id, rule]));
  const edges = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const estimates = estimatedRates(graph, statistics);
  const stores = storesOf(graph);
  const seconds = statistics?.event_seconds ?? 0;
  const actual = (id: string): number | null => statistics?.rates[id]?.actual ?? null;
  const rows = graph.rules.flatMap((rule): StepRow[] => {
    const edge = rule.kind === "source" || rule.kind === "due" ? undefined : edges.get(rule.edge);
    if (rule.kind === "source" || rule.kind === "due" || edge === undefined) return [];
    const { tuples = null, messages = null, bytes = null } = batch?.edges[edge.id] ?? {};
    const storing = rule.kind === "store";
    const probing = storing ? [null, null] : [estimates.get(rule.id), actual(rule.id)];
    return [
      {
        id: rule.id,
        priced: storing ? rule.store : rule.id,
        level: edge.level,
        from: labelOf(rules.get(edge.origin), stores),
        to: stores.get(edge.target)?.label ?? edge.target,
        what: storing ? "stores" : "probes",
        kind: edge.kind,
        tuples,
        messages,
        bytes,
        sent: compare(estimates.get(edge.id), actual(edge.id), seconds),
        made: compare(probing[0], probing[1], seconds),
        cores: statistics?.cores[rule.id] ?? null,
      },
    ];
  });
  return rows.sort((a, b) => a.level - b.level || (a.what === b.what ? 0 : a.what === "stores" ? -1 : 1));
}

/** Tuples held by a store, on average over the newest epoch, beside what was expected. */
export function storeCompared(
  graph: PhysicalGraph,
  store: string,
  statistics: EpochCompleted | null,
): Compared {
  return compare(estimatedTuples(graph, store, statistics), statistics?.held[store], 1);
}

/** The label of an edge or rule, for people; its id if the plan does not have it. */
export function elementLabel(graph: PhysicalGraph, id: string): string {
  const rules = new Map(graph.rules.map((rule) => [rule.id, rule]));
  const stores = storesOf(graph);
  const edge = graph.edges.find((candidate) => candidate.id === id);
  if (edge !== undefined)
    return `${labelOf(rules.get(edge.origin), stores)} → ${stores.get(edge.target)?.label ?? edge.target}`;
  const rule = rules.get(id);
  return rule === undefined ? id : `result ${labelOf(rule, stores)}`;
}

export interface StreamRow {
  readonly name: string;
  /** Tuples per second of event time over the newest epoch. */
  readonly rate: number | null;
  readonly accepted: number | null;
  readonly late: number | null;
  readonly undecodable: number | null;
  readonly latenessMs: number;
  readonly watermark: string | null;
  readonly newest: string | null;
  /** What it reads before all that comes now, in words; empty once it is live. */
  readonly history: string;
}

export function streamRows(
  graph: PhysicalGraph,
  batch: BatchCompleted | null,
  statistics: EpochCompleted | null,
): StreamRow[] {
  const seconds = statistics?.event_seconds ?? 0;
  return graph.streams.map((stream): StreamRow => {
    const metrics = batch?.streams[stream.name];
    const accepted = statistics?.accepted[stream.name];
    return {
      name: stream.name,
      rate: accepted === undefined || seconds <= 0 ? null : accepted / seconds,
      accepted: metrics?.accepted ?? null,
      late: metrics?.late ?? null,
      undecodable: metrics?.undecodable ?? null,
      latenessMs: stream.lateness_us / 1000,
      watermark: metrics?.watermark ?? null,
      newest: metrics?.max_event_time ?? null,
      history: historyText(metrics?.history_files_read ?? null, metrics?.history_files ?? null),
    };
  });
}

function historyText(read: number | null, files: number | null): string {
  return read === null || files === null ? "" : `reads its history: ${read} of ${files} files`;
}
