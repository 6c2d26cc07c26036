import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openFeed, type Connection } from "./feed";
import type { Snapshot } from "./messages";

/** The browser's EventSource, driven by the test. */
class Source extends EventTarget {
  static readonly CLOSED = 2;
  static all: Source[] = [];
  readyState = 1;
  constructor(readonly url: string) {
    super();
    Source.all.push(this);
  }
  close(): void {
    this.readyState = Source.CLOSED;
  }
  say(type: string, id: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(type, { lastEventId: id, data: JSON.stringify(data) }));
  }
}

const snapshot = (last_event_id: string): Snapshot => ({ last_event_id, state: "stopped", error: null, run: null, plan_id: null, epoch: null, heartbeat_at: null, batch: null, history: [], store_history: [], switches: [], given_up: null, failed_batch: null, epochs: [], statistics: null, queries: [] });
const started = { type: "job_started", version: 1, run: "a1", at: "2026-11-21T00:00:00Z", pid: 1, host: "h", plan_id: "P1", batch: 0 };

let snapshots: Snapshot[] = [];
let states: Snapshot[] = [];
let connections: Connection[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  [Source.all, snapshots, states, connections] = [[], [snapshot("5-0"), snapshot("9-0")], [], []];
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(snapshots.shift() ?? snapshot("99-0")), { headers: { "Content-Type": "application/json" } }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const open = () => openFeed("flights", (state) => states.push(state), (connection) => connections.push(connection));
const settle = () => vi.advanceTimersByTimeAsync(0);

it("takes the snapshot first and goes on from its last event", async () => {
  const feed = open();
  await settle();
  expect(Source.all[0]?.url).toBe("/api/topologies/flights/events/?last_event_id=5-0");
  Source.all[0]?.dispatchEvent(new Event("open"));
  Source.all[0]?.say("job_started", "6-0", started);
  expect(states.map((state) => [state.last_event_id, state.state])).toEqual([["5-0", "stopped"], ["6-0", "running"]]);
  expect(connections.at(-1)).toEqual({ kind: "connected" });
  feed.close();
  expect(Source.all[0]?.readyState).toBe(Source.CLOSED);
});

it("fetches the snapshot again after a reset", async () => {
  open();
  await settle();
  Source.all[0]?.say("reset", "", {});
  expect(connections.at(-1)?.kind).toBe("reconnecting");
  await vi.advanceTimersByTimeAsync(5000);
  expect(Source.all[1]?.url).toContain("last_event_id=9-0");
});

it("shows nothing of an unreadable message and starts from a fresh snapshot", async () => {
  open();
  await settle();
  Source.all[0]?.say("job_started", "6-0", { ...started, version: 7 });
  expect(states).toHaveLength(1);
  expect(connections.at(-1)?.kind).toBe("reconnecting");
  await vi.advanceTimersByTimeAsync(5000);
  expect(Source.all).toHaveLength(2);
});

it("leaves a broken connection to the browser, and says since when", async () => {
  open();
  await settle();
  Source.all[0]?.dispatchEvent(new Event("error"));
  expect(connections.at(-1)).toMatchObject({ kind: "reconnecting", reason: "the live connection broke" });
  await vi.advanceTimersByTimeAsync(5000);
  expect(Source.all).toHaveLength(1);
});

it("does nothing any more once it is closed", async () => {
  const feed = open();
  feed.close();
  await vi.advanceTimersByTimeAsync(5000);
  expect(Source.all).toHaveLength(0);
  expect(states).toHaveLength(0);
});
