import type { Snapshot } from "../messages";

/** A topology of which nothing has been heard. */
export const EMPTY: Snapshot = {
  last_event_id: "0-0",
  state: "stopped",
  error: null,
  run: null,
  plan_id: null,
  epoch: null,
  heartbeat_at: null,
  launched_at: null,
  phase: null,
  batch: null,
  history: [],
  store_history: [],
  switches: [],
  shapes: [],
  given_up: null,
  failed_batch: null,
  waiting_batch: null,
  epochs: [],
  statistics: null,
  queries: [],
};
