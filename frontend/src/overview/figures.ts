/** What a topology's row says of its newest batches. Pure. */
import type { WatchedTopology } from "../api/documents";
import { headerRates, lagSeconds, latencyNow } from "../live/recent";

export const MINUTE_MS = 60_000;
/** What a job does that reads and answers. */
const WORKING = new Set(["running", "idle", "stopping"]);

type History = WatchedTopology["history"];

export interface Figures {
  /** Tuples and results per second of wall time; null unless the job works. */
  readonly tuplesIn: number | null;
  readonly results: number | null;
  /** Milliseconds, of the last minute's results; null without any. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** Seconds of input that wait. */
  readonly lag: number | null;
}

const UNKNOWN: Figures = { tuplesIn: null, results: null, p50: null, p99: null, lag: null };

export function isWorking({ topology }: WatchedTopology): boolean {
  return WORKING.has(topology.state);
}

/** The batches that were committed in the last minute before a time, by the server's clock. */
export function lastMinute(history: History, now: string): History {
  const from = Date.parse(now) - MINUTE_MS;
  return history.filter((point) => Date.parse(point.at) >= from);
}

/** @param now the server's time of the answer */
export function figuresOf(watched: WatchedTopology, now: string): Figures {
  if (!isWorking(watched)) return UNKNOWN;
  const { history, heartbeat_at } = watched;
  const { tuplesIn, results } = headerRates(history, heartbeat_at);
  const last = history.at(-1);
  const latency = latencyNow(last, now);
  return {
    tuplesIn,
    results,
    p50: latency?.latency_ms_p50 ?? null,
    p99: latency?.latency_ms_p99 ?? null,
    lag: lagSeconds(last?.backlog, tuplesIn),
  };
}
