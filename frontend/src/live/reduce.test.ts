import { describe, expect, it } from "vitest";
import { EMPTY } from "./__fixtures__/snapshot";
import {
  type BatchCompleted,
  batchCompleted,
  type EpochCompleted,
  type Heartbeat,
  type LiveEvent,
  liveEvent,
  type Snapshot,
} from "./messages";
import {
  EPOCHS_LENGTH,
  HISTORY_LENGTH,
  historyPoint,
  reduce,
  STORE_BATCHES_LENGTH,
  withStores,
} from "./reduce";

const at = (second: number): string => new Date(Date.UTC(2026, 10, 21, 0, 0, second)).toISOString();

function batch(number: number, run = "a1", results = 3): BatchCompleted {
  return batchCompleted.parse({
    type: "batch",
    version: 1,
    run,
    at: at(number),
    batch: number,
    epoch: 1,
    plan_id: "P1",
    seconds: 0.2,
    tuples_in: 100,
    backlog: null,
    level_seconds: [0.1, 0.1],
    streams: {},
    stores: {
      S1: { tuples: 10, bytes: 100, inserted: 5, evicted: 0, probes: 4, matches: 2, per_task: [5, 5] },
      S2: { tuples: 20, bytes: 200, inserted: 5, evicted: 1, probes: 4, matches: 2, per_task: [9, 11] },
    },
    edges: {},
    latency_ms_p50: 20,
    latency_ms_p99: 90,
    queries: {
      q1: { results, latency_ms_p50: 20, latency_ms_p99: 90, complete_since: null },
      q2: { results: 0, latency_ms_p50: null, latency_ms_p99: null, complete_since: null },
    },
  });
}
const epoch = (number: number, run = "a1", max = 4): EpochCompleted => ({
  type: "epoch",
  version: 1,
  run,
  at: at(number),
  epoch: number,
  plan_id: "P1",
  first_batch: 2 * number,
  last_batch: 2 * number + 1,
  event_seconds: 8,
  until_us: null,
  accepted: { r: 5 },
  edges: { E1: 5 },
  rules: {},
  held: { S1: 10 },
  sent: 5,
  rates: { E1: { estimated: 2.5, actual: 0.625 } },
  stores: {},
  cores: {},
  total_cores: null,
  process_cores: null,
  shapes: {},
  q_error: { median: 2, max, worst: "E1", estimated: 2.5, actual: 0.625 },
});
const started: LiveEvent = {
  type: "job_started",
  version: 1,
  run: "a1",
  at: at(0),
  pid: 1,
  host: "h",
  plan_id: "P1",
  batch: 0,
};
const heartbeat = (state: "idle" | "stopping", run = "a1"): LiveEvent => ({
  type: "heartbeat",
  version: 1,
  run,
  at: at(9),
  state,
  batch: 2,
  phase: null,
});

function play(from: Snapshot, events: readonly LiveEvent[]): Snapshot {
  return events.reduce((state, event, i) => reduce(state, `${i + 1}-0`, event), from);
}

const story: LiveEvent[] = [
  started,
  batch(0),
  batch(1),
  {
    type: "plan_switched",
    version: 1,
    run: "a1",
    at: at(2),
    plan_id: "P2",
    epoch: 2,
    batch: 2,
    cause: "deploy",
    moved: 40,
    seconds: 0.5,
  },
  {
    type: "shapes_changed",
    version: 1,
    run: "a1",
    at: at(2),
    plan_id: "P2",
    epoch: 2,
    batch: 2,
    stores: { r: { before: "4x1", after: "2x2" } },
    moved: 7,
    seconds: 0.25,
  },
  { ...batch(2), epoch: 2, plan_id: "P2" },
  {
    type: "batch_given_up",
    version: 1,
    run: "a1",
    at: at(3),
    plan_id: "P2",
    batch: 3,
    steps: { "P-1": 6 },
    most: 5,
  },
  { type: "deploy_refused", version: 1, run: "a1", at: at(3), plan_id: "P3", reason: "no" },
  heartbeat("idle"),
  batch(3),
  epoch(1),
  heartbeat("stopping"),
  batch(4),
  epoch(1, "a1", 5),
  epoch(2),
  { type: "job_stopped", version: 1, run: "a1", at: at(5), reason: "asked" },
  heartbeat("idle"),
  { ...started, run: "a2" },
  epoch(3, "a1"),
  batch(5, "a2"),
  batch(6, "a1"),
  {
    type: "batch_failed",
    version: 1,
    run: "a2",
    at: at(2),
    plan_id: "P1",
    batch: 6,
    error: "ValueError: no",
    set_aside: {},
  },
  {
    type: "batch_failed",
    version: 1,
    run: "a2",
    at: at(2),
    plan_id: "P1",
    batch: 6,
    error: "ValueError: no",
    set_aside: { r: 1 },
  },
  { type: "job_failed", version: 1, run: "a2", at: at(7), error: "boom", detail: "trace", final: false },
];

describe("reduce", () => {
  it("gives, from a snapshot taken anywhere, the state of the whole story", () => {
    const whole = play(EMPTY, story);
    for (let cut = 0; cut <= story.length; cut += 1) {
      const snapshot = structuredClone(play(EMPTY, story.slice(0, cut)));
      const rest = story
        .slice(cut)
        .reduce((state, event, i) => reduce(state, `${cut + i + 1}-0`, event), snapshot);
      expect(rest).toEqual(whole);
    }
    expect(whole).toMatchObject({
      state: "failed",
      error: "boom",
      run: "a2",
      plan_id: "P1",
      last_event_id: "24-0",
      shapes: [{ batch: 2, stores: { r: { before: "4x1", after: "2x2" } }, moved: 7, seconds: 0.25 }],
    });
  });

  it("tells of a failed batch while it is searched, and afterwards if something was set aside", () => {
    const failed = (set_aside: Record<string, number>): LiveEvent => ({
      type: "batch_failed",
      version: 1,
      run: "a1",
      at: at(1),
      plan_id: "P1",
      batch: 1,
      error: "boom",
      set_aside,
    });
    expect(play(EMPTY, [started, failed({})]).failed_batch).toEqual({
      at: at(1),
      batch: 1,
      error: "boom",
      set_aside: {},
    });
    expect(play(EMPTY, [started, failed({}), batch(1)]).failed_batch).toBeNull();
    expect(
      play(EMPTY, [started, failed({}), failed({ r: 2 }), batch(1), batch(2)]).failed_batch?.set_aside,
    ).toEqual({ r: 2 });
    expect(play(EMPTY, [started, failed({ r: 2 }), { ...started, run: "a2" }]).failed_batch).toBeNull();
  });

  it("tells of a batch that waits for a server until it is committed or the job ends", () => {
    const common = { version: 1, run: "a1", at: at(1) } as const;
    const waits: LiveEvent = { ...common, type: "batch_waits", plan_id: "P1", batch: 1, reason: "no answer" };
    const waiting = play(EMPTY, [started, waits]);
    expect(waiting.waiting_batch).toEqual({ at: at(1), batch: 1, reason: "no answer" });
    expect(play(EMPTY, [started, waits, batch(1)]).waiting_batch).toBeNull();
    const stopped: LiveEvent = { ...common, type: "job_stopped", reason: "told to stop" };
    expect(play(EMPTY, [started, waits, stopped]).waiting_batch).toBeNull();
    expect(play(EMPTY, [started, waits, { ...started, run: "a2" }]).waiting_batch).toBeNull();
  });

  it("tells what a job does until its first batch is committed", () => {
    const beat = (run: string, phase: Heartbeat["phase"], seconds: number): LiveEvent => ({
      version: 1,
      run,
      at: at(seconds),
      type: "heartbeat",
      state: "starting",
      batch: 0,
      phase,
    });
    const starting = play(EMPTY, [beat("a1", null, 1), beat("a1", "spark", 2)]);
    expect(starting).toMatchObject({ phase: "spark", launched_at: at(1) });
    expect(play(EMPTY, [beat("a1", "query", 1), started, batch(1)]).phase).toBeNull();
    expect(play(EMPTY, [beat("a1", "query", 1), beat("a2", null, 5)])).toMatchObject({
      phase: null,
      launched_at: at(5),
    });
  });

  it("goes through the states of the contract's table", () => {
    expect(play(EMPTY, story.slice(0, 1)).state).toBe("running");
    expect(play(EMPTY, story.slice(0, 9)).state).toBe("idle");
    expect(play(EMPTY, story.slice(0, 9)).given_up).toEqual({ at: at(3), plan_id: "P2", batch: 3 });
    expect(play(EMPTY, story.slice(0, 10)).given_up).toBeNull();
    expect(play(EMPTY, story.slice(0, 13)).state).toBe("stopping");
    expect(play(EMPTY, story.slice(0, 17)).state).toBe("stopped");
    expect(play(EMPTY, story.slice(0, 18))).toMatchObject({
      state: "running",
      batch: null,
      heartbeat_at: at(0),
    });
  });

  it("ignores what an older run still says, except for the id", () => {
    const before = play(EMPTY, story.slice(0, 20));
    expect(reduce(before, "99-0", batch(6, "a1"))).toEqual({ ...before, last_event_id: "99-0" });
  });

  it("replaces a replayed batch where it stands", () => {
    const state = play(EMPTY, [started, batch(0), batch(1), batch(2), { ...batch(1), tuples_in: 7 }]);
    expect(state.history.map((point) => [point.batch, point.tuples_in])).toEqual([
      [0, 100],
      [1, 7],
      [2, 100],
    ]);
  });

  it("keeps a bounded history, newest last", () => {
    const state = play(EMPTY, [started, ...Array.from({ length: HISTORY_LENGTH + 5 }, (_, i) => batch(i))]);
    expect(state.history.length).toBe(HISTORY_LENGTH);
    expect(state.history.at(-1)?.batch).toBe(HISTORY_LENGTH + 4);
  });

  it("does not change its argument", () => {
    const frozen = Object.freeze(structuredClone(EMPTY));
    expect(() => reduce(frozen, "1-0", batch(0))).not.toThrow();
  });
});

describe("the history of stores", () => {
  it("is short, starts afresh with a run, and is shorter the more stores there are", () => {
    const state = play(EMPTY, [
      started,
      ...Array.from({ length: STORE_BATCHES_LENGTH + 5 }, (_, i) => batch(i)),
    ]);
    expect(state.store_history).toHaveLength(STORE_BATCHES_LENGTH);
    expect(state.store_history.at(-1)?.stores.S2).toEqual({
      ...batch(0).stores.S2,
      per_task: undefined,
    });
    expect(reduce(state, "99-0", { ...started, run: "a2" }).store_history).toEqual([]);
    const store = batch(0).stores.S1;
    if (store === undefined) throw new Error("the batch lost its store");
    const many = (number: number): BatchCompleted => ({
      ...batch(number),
      stores: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`S${i}`, store])),
    });
    const kept = Array.from({ length: 20 }, (_, i) => many(i)).reduce(
      withStores,
      [] as ReturnType<typeof withStores>,
    );
    expect(kept.map((point) => point.batch)).toEqual([15, 16, 17, 18, 19]);
  });
});

describe("epochs", () => {
  it("are kept once each, the newest one whole until another run", () => {
    const state = play(EMPTY, [started, epoch(1), epoch(2), epoch(1, "a1", 9)]);
    expect(state.epochs.map((point) => [point.epoch, point.q_error?.max])).toEqual([
      [1, 9],
      [2, 4],
    ]);
    expect(state.statistics).toEqual(epoch(1, "a1", 9));
    const next = reduce(state, "9-0", { ...started, run: "a2" });
    expect(next.statistics).toBeNull();
    expect(next.epochs).toEqual(state.epochs);
    const many = play(EMPTY, [started, ...Array.from({ length: EPOCHS_LENGTH + 3 }, (_, i) => epoch(i))]);
    expect(many.epochs.map((point) => point.epoch)).toEqual(
      Array.from({ length: EPOCHS_LENGTH }, (_, i) => i + 3),
    );
  });
});

describe("historyPoint", () => {
  it("sums results and state", () => {
    expect(historyPoint(batch(0))).toMatchObject({
      results: 3,
      state_bytes: 300,
      state_tuples: 30,
      latency_ms_p50: 20,
      latency_ms_p99: 90,
    });
  });
});

describe("queries that are not told", () => {
  it("leave the number of results open", () => {
    const told = batch(0);
    const [own] = Object.values(told.queries);
    if (own === undefined) throw new Error("the batch has no query");
    const queries = { ...told.queries, "queries of other teams": { ...own, results: 0 } };
    expect(historyPoint({ ...told, queries }).results).toBeNull();
  });
});

describe("the socket's check", () => {
  it("refuses a message of an unknown type or version", () => {
    expect(liveEvent.safeParse({ ...started, type: "surprise" }).success).toBe(false);
    expect(liveEvent.safeParse({ ...started, version: 2 }).success).toBe(false);
    expect(liveEvent.safeParse(batch(1)).success).toBe(true);
  });
});
