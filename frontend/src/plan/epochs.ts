/** A topology's epochs as its switches and newest batches tell them. Pure. */
import type { EpochPoint, HistoryPoint, Snapshot } from "../live/messages";
import { resultsOf } from "../live/recent";

/** `shapeText(7, [2, 1, 1])` is "2x2+2x1+1x1": columns by rows of each grid of so many tasks. */
export function shapeText(tasks: number, rows: readonly number[]): string {
  if (rows.length === 1) return `${tasks / (rows[0] ?? 1)}x${rows[0]}`;
  let left = tasks;
  return rows
    .map((height) => {
      const size = 2 ** Math.floor(Math.log2(left));
      left -= size;
      return `${size / height}x${height}`;
    })
    .join("+");
}

export interface EpochRow {
  readonly planId: string;
  readonly epoch: number;
  /** The first batch under the plan. */
  readonly batch: number;
  readonly at: string;
  readonly cause: string;
  /** For how long the first batch waited until stores were ready for the plan, and tuples copied for that. */
  readonly pauseSeconds: number | null;
  readonly moved: number | null;
  /** Batches of it that the history still holds; the figures are over these, null without any. */
  readonly batches: number;
  readonly secondsPerBatch: number | null;
  readonly tuplesIn: number | null;
  readonly results: number | null;
  readonly latencyP99Ms: number | null;
  readonly stateBytes: number | null;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The plan that a run was launched with; no event tells of it. */
export interface Launch {
  readonly planId: string;
  readonly at: string;
}

/**
 * Newest first. A batch belongs to the newest switch at or before it; those before the first switch
 * belong to the plan of the launch, unless the launch came after a switch of an earlier run.
 */
export function epochRows(
  switches: Snapshot["switches"],
  history: readonly HistoryPoint[],
  launch: Launch | null = null,
): EpochRow[] {
  const [first] = history;
  const [change] = switches;
  const launched =
    launch !== null &&
    first !== undefined &&
    (change === undefined ||
      (launch.at < change.at && first.batch < change.batch && launch.planId !== change.plan_id));
  const start = launched
    ? [
        {
          at: launch.at,
          plan_id: launch.planId,
          epoch: first.epoch,
          batch: first.batch,
          cause: "start of the job",
          moved: null,
          seconds: null,
        },
      ]
    : [];
  const all = [...start, ...switches];
  return all
    .map((change, i): EpochRow => {
      const next = all[i + 1];
      const own = history.filter(
        (point) => point.batch >= change.batch && (next === undefined || point.batch < next.batch),
      );
      const latencies = own.flatMap((point) => (point.latency_ms_p99 === null ? [] : [point.latency_ms_p99]));
      return {
        planId: change.plan_id,
        epoch: change.epoch,
        batch: change.batch,
        at: change.at,
        cause: change.cause,
        pauseSeconds: change.seconds,
        moved: change.moved,
        batches: own.length,
        secondsPerBatch: mean(own.map((point) => point.seconds)),
        tuplesIn: own.length === 0 ? null : own.reduce((sum, point) => sum + point.tuples_in, 0),
        results: own.length === 0 ? null : resultsOf(own),
        latencyP99Ms: latencies.length === 0 ? null : Math.max(...latencies),
        stateBytes: own.at(-1)?.state_bytes ?? null,
      };
    })
    .reverse();
}

/**
 * The epoch whose numbers stand in a past plan: the one that is asked for if it was the plan's, else the
 * newest of the plan; null if none is known.
 */
export function epochOf(epochs: readonly EpochPoint[], planId: string, asked: string | null): number | null {
  const own = epochs.filter((point) => point.plan_id === planId);
  return (own.find((point) => String(point.epoch) === asked) ?? own.at(-1))?.epoch ?? null;
}
