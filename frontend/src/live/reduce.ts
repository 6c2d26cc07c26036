/**
 * Events applied to a snapshot give a fresh snapshot: the same rules as the backend's, from the table in
 * `docs/design/frontend-contract.md`. Pure: neither argument is changed.
 */
import type {
  BatchCompleted,
  EpochCompleted,
  EpochPoint,
  HistoryPoint,
  LiveEvent,
  Snapshot,
  StorePoint,
  StoresPoint,
} from "./messages";

export const HISTORY_LENGTH = 300;
const SWITCHES_LENGTH = 50;
export const EPOCHS_LENGTH = 50;
export const STORE_BATCHES_LENGTH = 60;
const STORE_BATCHES_LEAST = 5;
const STORE_POINTS = 600;

/** Stands in a batch for queries that the account does not read, as backend/topologies/sight.py says it. */
const OTHERS = "queries of other teams";

/** What the history keeps of a batch. */
export function historyPoint(batch: BatchCompleted): HistoryPoint {
  const queries = Object.values(batch.queries);
  const stores = Object.values(batch.stores);
  return {
    batch: batch.batch,
    at: batch.at,
    epoch: batch.epoch,
    seconds: batch.seconds,
    tuples_in: batch.tuples_in,
    backlog: batch.backlog,
    results: OTHERS in batch.queries ? null : queries.reduce((sum, query) => sum + query.results, 0),
    latency_ms_p50: batch.latency_ms_p50,
    latency_ms_p99: batch.latency_ms_p99,
    state_bytes: stores.reduce((sum, store) => sum + store.bytes, 0),
    state_tuples: stores.reduce((sum, store) => sum + store.tuples, 0),
    level_seconds: batch.level_seconds,
  };
}

/** The list with one more entry; one that is told again stands where it stood. */
function withEntry<Entry>(entries: readonly Entry[], key: keyof Entry, entry: Entry, most: number): Entry[] {
  const place = entries.findIndex((one) => one[key] === entry[key]);
  return place >= 0 ? entries.with(place, entry) : [...entries, entry].slice(-most);
}

/** Every store's point of one more batch; many stores are followed for fewer batches. */
export function withStores(history: readonly StoresPoint[], batch: BatchCompleted): StoresPoint[] {
  const stores = Object.fromEntries(
    Object.entries(batch.stores).map(([id, { per_task: _, ...point }]): [string, StorePoint] => [id, point]),
  );
  const point: StoresPoint = { batch: batch.batch, stores };
  const most = Math.max(
    STORE_BATCHES_LEAST,
    Math.floor(STORE_POINTS / Math.max(1, Object.keys(stores).length)),
  );
  return withEntry(history, "batch", point, Math.min(STORE_BATCHES_LENGTH, most));
}

/** What the list of epochs keeps of one. */
function epochPoint(event: EpochCompleted): EpochPoint {
  const { epoch, at, plan_id, first_batch, last_batch, event_seconds, sent, q_error, total_cores } = event;
  return { epoch, at, plan_id, first_batch, last_batch, event_seconds, sent, q_error, total_cores };
}

export function reduce(before: Snapshot, id: string, event: LiveEvent): Snapshot {
  let state: Snapshot = { ...before, last_event_id: id };
  const ended = state.state === "stopped" || state.state === "failed";
  if (state.run !== null && (event.run < state.run || (event.run === state.run && ended))) return state;
  if (state.run === null || event.run > state.run) {
    state = {
      ...state,
      run: event.run,
      state: "starting",
      batch: null,
      error: null,
      heartbeat_at: null,
      launched_at: event.at,
      phase: null,
      store_history: [],
      statistics: null,
      given_up: null,
      failed_batch: null,
      waiting_batch: null,
    };
  }
  switch (event.type) {
    case "job_started":
      return { ...state, plan_id: event.plan_id, state: "running", heartbeat_at: event.at };
    case "heartbeat":
      return { ...state, state: event.state, heartbeat_at: event.at, phase: event.phase };
    case "batch":
      return {
        ...state,
        batch: event,
        launched_at: null,
        phase: null,
        given_up: null,
        waiting_batch: null,
        failed_batch:
          state.failed_batch !== null &&
          Object.keys(state.failed_batch.set_aside).length === 0 &&
          state.failed_batch.batch <= event.batch
            ? null
            : state.failed_batch,
        history: withEntry(state.history, "batch", historyPoint(event), HISTORY_LENGTH),
        store_history: withStores(state.store_history, event),
        epoch: event.epoch,
        plan_id: event.plan_id,
        state: state.state === "stopping" ? "stopping" : "running",
        heartbeat_at: event.at,
      };
    case "epoch":
      return {
        ...state,
        epochs: withEntry(state.epochs, "epoch", epochPoint(event), EPOCHS_LENGTH),
        statistics: event,
      };
    case "plan_switched": {
      const { at, plan_id, epoch, batch, cause, moved, seconds } = event;
      const point = { at, plan_id, epoch, batch, cause, moved, seconds };
      return {
        ...state,
        switches: [...state.switches, point].slice(-SWITCHES_LENGTH),
        plan_id,
        epoch,
      };
    }
    case "shapes_changed": {
      const { at, plan_id, epoch, batch, stores, moved, seconds } = event;
      const point = { at, plan_id, epoch, batch, stores, moved, seconds };
      return { ...state, shapes: withEntry(state.shapes, "batch", point, SWITCHES_LENGTH) };
    }
    case "batch_failed": {
      const { at, batch, error, set_aside } = event;
      return { ...state, failed_batch: { at, batch, error, set_aside } };
    }
    case "batch_waits":
      return { ...state, waiting_batch: { at: event.at, batch: event.batch, reason: event.reason } };
    case "batch_given_up":
      return { ...state, given_up: { at: event.at, plan_id: event.plan_id, batch: event.batch } };
    case "deploy_refused":
      return state;
    case "job_stopped":
      return { ...state, state: "stopped", given_up: null, waiting_batch: null, phase: null };
    case "job_failed":
      return {
        ...state,
        state: "failed",
        error: event.error,
        given_up: null,
        waiting_batch: null,
        phase: null,
      };
  }
}
