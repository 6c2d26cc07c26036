/** The newest whole batches of a run, and the rates that follow from them. Pure. */
import type { BatchCompleted, EpochCompleted, HistoryPoint } from "./messages";

export const RECENT_LENGTH = 60;
/** Rates are averages over this many batches: calm enough to read, quick enough to follow. */
const RATE_BATCHES = 10;

/**
 * The batches with one more; a replayed batch replaces its first attempt, another run (null until its first
 * batch) starts afresh.
 */
export function remember(
  recent: readonly BatchCompleted[],
  batch: BatchCompleted | null,
): readonly BatchCompleted[] {
  if (batch === null) return recent.length === 0 ? recent : [];
  const last = recent.at(-1);
  if (last === batch) return recent;
  if (last !== undefined && last.run !== batch.run) return [batch];
  return [...recent.filter((other) => other.batch < batch.batch), batch].slice(-RECENT_LENGTH);
}

function seconds(from: string, to: string): number | null {
  const span = (Date.parse(to) - Date.parse(from)) / 1000;
  return span > 0 ? span : null;
}

export interface HeaderRates {
  readonly tuplesIn: number | null;
  readonly results: number | null;
}

/**
 * Tuples in and results out per second of wall time; null before two batches, results also where those of
 * some queries are not told.
 *
 * @param until the newest heartbeat: while a job idles its rates fall, although no batch says so
 */
export function headerRates(history: readonly HistoryPoint[], until: string | null): HeaderRates {
  const points = history.slice(-RATE_BATCHES - 1);
  const [first, ...rest] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || rest.length === 0)
    return { tuplesIn: null, results: null };
  const end = until !== null && Date.parse(until) > Date.parse(last.at) ? until : last.at;
  const span = seconds(first.at, end);
  if (span === null) return { tuplesIn: null, results: null };
  return {
    tuplesIn: rest.reduce((sum, point) => sum + point.tuples_in, 0) / span,
    results: rated(resultsOf(rest), span),
  };
}

/** Of batches together; null where those of some queries are not told. */
export function resultsOf(points: readonly HistoryPoint[]): number | null {
  return points.reduce<number | null>(
    (sum, { results }) => (sum === null || results === null ? null : sum + results),
    0,
  );
}

function rated(total: number | null, span: number): number | null {
  return total === null ? null : total / span;
}

function newestEventTime(batch: BatchCompleted): number | null {
  const times = Object.values(batch.streams).flatMap((stream) =>
    stream.max_event_time === null ? [] : [Date.parse(stream.max_event_time)],
  );
  return times.length === 0 ? null : Math.max(...times);
}

export interface EdgeRate {
  /** Tuples per second of wall time: what the machine does now. */
  readonly now: number | null;
  /**
   * Tuples per second of event time: comparable with the optimizer's estimate, however fast a replay runs.
   */
  readonly eventTime: number | null;
}

const UNKNOWN_RATE: EdgeRate = { now: null, eventTime: null };

/**
 * The rate of every edge of the newest plan.
 *
 * @param recent newest last, of one run
 * @param history gives the batch before the first recent one
 */
export function edgeRates(
  recent: readonly BatchCompleted[],
  history: readonly HistoryPoint[],
): (edge: string) => EdgeRate {
  const last = recent.at(-1);
  if (last === undefined) return () => UNKNOWN_RATE;
  const samePlan = recent.filter((batch) => batch.plan_id === last.plan_id).slice(-RATE_BATCHES - 1);
  const before = history.filter((point) => point.batch < (samePlan[0]?.batch ?? 0)).at(-1);
  const single = samePlan.length === 1;
  const counted = single ? samePlan : samePlan.slice(1);
  const startAt = single ? before?.at : samePlan[0]?.at;
  const wall = startAt === undefined ? null : seconds(startAt, last.at);
  const [from, to] = [
    single || samePlan[0] === undefined ? null : newestEventTime(samePlan[0]),
    newestEventTime(last),
  ];
  const event = from === null || to === null || to <= from ? null : (to - from) / 1000;
  return (edge) => {
    const measured = counted.filter((batch) => batch.edges[edge] !== undefined);
    if (measured.length === 0) return UNKNOWN_RATE;
    const tuples = measured.reduce((sum, batch) => sum + (batch.edges[edge]?.tuples ?? 0), 0);
    return { now: wall === null ? null : tuples / wall, eventTime: event === null ? null : tuples / event };
  };
}

/** The rate of every edge over a past epoch; what the machine did per second of wall time is not kept. */
function epochRates(statistics: EpochCompleted): (edge: string) => EdgeRate {
  return (edge) => ({ now: null, eventTime: statistics.rates[edge]?.actual ?? null });
}

/**
 * What a page shows: the newest batches' rates, or, for a plan of the past, which has none, those of its
 * epoch.
 */
export function knownRates(
  recent: readonly BatchCompleted[],
  history: readonly HistoryPoint[],
  statistics: EpochCompleted | null,
): (edge: string) => EdgeRate {
  return recent.length === 0 && statistics !== null ? epochRates(statistics) : edgeRates(recent, history);
}

const LATENCY_MS = 60_000;

/**
 * The newest batch, if its latencies, which are those of the minute before it, still say something.
 *
 * @param until the newest heartbeat
 */
export function latencyNow(last: HistoryPoint | undefined, until: string | null): HistoryPoint | undefined {
  if (last === undefined || until === null) return last;
  return Date.parse(until) - Date.parse(last.at) < LATENCY_MS ? last : undefined;
}

/** Seconds of input that wait at the sources; null if the sources cannot tell. */
export function lagSeconds(backlog: number | null | undefined, tuplesIn: number | null): number | null {
  if (backlog === null || backlog === undefined) return null;
  if (backlog === 0) return 0;
  return tuplesIn === null || tuplesIn === 0 ? null : backlog / tuplesIn;
}
