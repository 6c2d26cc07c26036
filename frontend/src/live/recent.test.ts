import { describe, expect, it } from "vitest";
import { type BatchCompleted, batchCompleted, type EpochCompleted } from "./messages";
import {
  edgeRates,
  headerRates,
  knownRates,
  lagSeconds,
  latencyNow,
  RECENT_LENGTH,
  remember,
} from "./recent";
import { historyPoint } from "./reduce";

function batch(number: number, tuples = 100, run = "a1", plan = "P1"): BatchCompleted {
  return batchCompleted.parse({
    type: "batch",
    version: 1,
    run,
    at: new Date(number * 500).toISOString(),
    batch: number,
    epoch: 1,
    plan_id: plan,
    seconds: 0.2,
    tuples_in: tuples,
    backlog: 0,
    level_seconds: [],
    stores: {},
    queries: {},
    streams: {
      r: {
        accepted: tuples,
        late: 0,
        undecodable: 0,
        watermark: null,
        max_event_time: new Date(number * 60_000).toISOString(),
      },
    },
    edges: { E1: { tuples, messages: 1, bytes: 1 } },
  });
}

describe("remember", () => {
  it("keeps the newest batches of one run in order", () => {
    let recent: readonly BatchCompleted[] = [];
    for (let i = 0; i < RECENT_LENGTH + 3; i += 1) recent = remember(recent, batch(i));
    expect(recent).toHaveLength(RECENT_LENGTH);
    expect(remember(recent, batch(60, 7)).at(-1)?.tuples_in).toBe(7);
    expect(remember(recent, batch(1, 1, "a2"))).toHaveLength(1);
    expect(remember(recent, null)).toEqual([]);
  });
});

describe("rates", () => {
  const recent = [batch(0, 999), batch(1), batch(2)];
  const history = recent.map(historyPoint);

  it("leaves out what arrived before the first instant", () => {
    expect(headerRates(history, null)).toEqual({ tuplesIn: 200, results: 0 });
    expect(edgeRates(recent, history)("E1")).toEqual({ now: 200, eventTime: 200 / 120 });
  });

  it("is unknown, not zero, before two batches and for unmeasured edges", () => {
    expect(headerRates(history.slice(0, 1), null).tuplesIn).toBeNull();
    expect(edgeRates([], [])("E1").now).toBeNull();
    expect(edgeRates([batch(0)], [])("E1").now).toBeNull();
    expect(edgeRates(recent, history)("E2").now).toBeNull();
  });

  it("of results is unknown where those of some queries are not told", () => {
    const untold = history.map((point) => ({ ...point, results: null }));
    expect(headerRates(untold, null)).toEqual({ tuplesIn: 200, results: null });
  });

  it("falls while a job idles", () => {
    expect(headerRates(history, new Date(4000).toISOString()).tuplesIn).toBe(50);
    expect(headerRates(history, new Date(0).toISOString()).tuplesIn).toBe(200);
  });

  it("are those of the epoch where no batch is known", () => {
    const epoch: EpochCompleted = {
      type: "epoch",
      version: 1,
      run: "a1",
      at: new Date(0).toISOString(),
      epoch: 1,
      plan_id: "P0",
      first_batch: 0,
      last_batch: 1,
      event_seconds: 8,
      until_us: null,
      accepted: {},
      edges: { E1: 5 },
      rules: {},
      held: {},
      sent: 5,
      rates: { E1: { estimated: null, actual: 0.625 } },
      stores: {},
      cores: {},
      total_cores: null,
      process_cores: null,
      shapes: {},
      q_error: null,
    };
    expect(knownRates([], history, epoch)("E1")).toEqual({ now: null, eventTime: 0.625 });
    expect(knownRates([], history, epoch)("E2")).toEqual({ now: null, eventTime: null });
    expect(knownRates(recent, history, epoch)("E1")).toEqual(edgeRates(recent, history)("E1"));
    expect(knownRates([], history, null)("E1").eventTime).toBeNull();
  });

  it("uses the history for the first batch that a page sees", () => {
    expect(edgeRates([batch(2)], history)("E1").now).toBe(200);
  });

  it("does not mix two plans", () => {
    expect(
      edgeRates([batch(0, 900), batch(1, 900), batch(2, 10, "a1", "P2"), batch(3, 20, "a1", "P2")], [])("E1")
        .now,
    ).toBe(40);
  });

  it("knows a lag of zero from an unknown one", () => {
    expect(lagSeconds(0, null)).toBe(0);
    expect(lagSeconds(null, 10)).toBeNull();
    expect(lagSeconds(50, 100)).toBe(0.5);
    expect(lagSeconds(50, null)).toBeNull();
  });
});

it("latencies of a minute are unknown a minute later", () => {
  const last = historyPoint(batch(0));
  expect(latencyNow(last, null)).toBe(last);
  expect(latencyNow(last, new Date(59_000).toISOString())).toBe(last);
  expect(latencyNow(last, new Date(60_000).toISOString())).toBeUndefined();
});
