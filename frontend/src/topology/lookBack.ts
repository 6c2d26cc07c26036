/** What a page says of a past moment. Pure. */
import type { Snapshot } from "../live/messages";

/** Of a moment of which nothing is known, or not yet: not what is so now. */
export function unknownThen(now: Snapshot): Snapshot {
  return {
    ...now,
    error: null,
    epoch: null,
    heartbeat_at: null,
    launched_at: null,
    phase: null,
    batch: null,
    history: [],
    store_history: [],
    switches: [],
    shapes: [],
    epochs: [],
    statistics: null,
    given_up: null,
    failed_batch: null,
    waiting_batch: null,
  };
}

/** The last batch that had been committed then; null if it is not known. */
export function lastBatch({ batch, statistics }: Snapshot): number | null {
  return batch?.batch ?? statistics?.last_batch ?? null;
}
