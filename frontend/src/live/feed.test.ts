// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EMPTY } from "./__fixtures__/snapshot";
import { type Connection, HIDDEN_MS, openFeed } from "./feed";
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

const snapshot = (last_event_id: string): Snapshot => ({ ...EMPTY, last_event_id });
const started = {
  type: "job_started",
  version: 1,
  run: "a1",
  at: "2026-11-21T00:00:00Z",
  pid: 1,
  host: "h",
  plan_id: "P1",
  batch: 0,
};

let snapshots: Snapshot[] = [];
let states: Snapshot[] = [];
let connections: Connection[] = [];
/** What the server answers when it is asked for a connection, and for a snapshot. */
let asked: { status: number; headers?: Record<string, string> } = { status: 200 };
let snapshotStatus = 200;
let hidden = false;

const answer = async (input: Request | string): Promise<Response> => {
  if (typeof input === "string") return new Response(null, asked);
  const body =
    snapshotStatus === 200
      ? (snapshots.shift() ?? snapshot("99-0"))
      : { detail: "Authentication credentials were not provided." };
  return new Response(JSON.stringify(body), {
    status: snapshotStatus,
    headers: { "Content-Type": "application/json" },
  });
};
const refuse = (): void => {
  const last = Source.all.at(-1);
  last?.close();
  last?.dispatchEvent(new Event("error"));
};
const look = (at: boolean): void => {
  hidden = !at;
  document.dispatchEvent(new Event("visibilitychange"));
};

beforeEach(() => {
  vi.useFakeTimers();
  [Source.all, snapshots, states, connections] = [[], [snapshot("5-0"), snapshot("9-0")], [], []];
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("fetch", answer);
  [asked, snapshotStatus, hidden] = [{ status: 200 }, 200, false];
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const open = () =>
  openFeed(
    "flights",
    (state) => states.push(state),
    (connection) => connections.push(connection),
  );
const settle = () => vi.advanceTimersByTimeAsync(0);

it("takes the snapshot first and goes on from its last event", async () => {
  const feed = open();
  await settle();
  expect(Source.all[0]?.url).toBe("/api/topologies/flights/events/?last_event_id=5-0");
  Source.all[0]?.dispatchEvent(new Event("open"));
  Source.all[0]?.say("job_started", "6-0", started);
  expect(states.map((state) => [state.last_event_id, state.state])).toEqual([
    ["5-0", "stopped"],
    ["6-0", "running"],
  ]);
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

it.each([401, 403])(
  "says that the account is signed out (%i), and does not try again until somebody looks",
  async (status) => {
    const feed = open();
    await settle();
    asked = { status };
    snapshotStatus = status;
    refuse();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(connections.at(-1)).toEqual({ kind: "signed-out" });
    expect(Source.all).toHaveLength(1);
    look(true);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(connections.at(-1)).toEqual({ kind: "signed-out" });
    expect(Source.all).toHaveLength(1);
    [asked, snapshotStatus] = [{ status: 200 }, 200];
    look(true);
    await settle();
    expect(Source.all).toHaveLength(2);
    feed.close();
  },
);

it("renews the snapshot as often as it is told to while too many pages are open", async () => {
  const feed = open();
  await settle();
  asked = { status: 429, headers: { "Retry-After": "10" } };
  refuse();
  await settle();
  expect(connections.at(-1)).toEqual({ kind: "polling", seconds: 10 });
  await vi.advanceTimersByTimeAsync(9_900);
  expect(states).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_700);
  expect(states.map((state) => state.last_event_id)).toEqual(["5-0", "9-0"]);
  refuse();
  await vi.advanceTimersByTimeAsync(12_600);
  expect(states).toHaveLength(3);
  asked = { status: 200 };
  Source.all.at(-1)?.dispatchEvent(new Event("open"));
  expect(connections.at(-1)).toEqual({ kind: "connected" });
  feed.close();
});

it("waits for nobody in particular when a refusal does not say how long", async () => {
  const feed = open();
  await settle();
  asked = { status: 429 };
  refuse();
  await settle();
  expect(connections.at(-1)?.kind).toBe("polling");
  feed.close();
});

it.each([404, 500, 503])("tries again after any other refusal (%i)", async (status) => {
  const feed = open();
  await settle();
  asked = { status };
  refuse();
  await vi.advanceTimersByTimeAsync(5000);
  expect(Source.all).toHaveLength(2);
  feed.close();
});

it("gives the connection back while nobody looks, and begins anew when somebody does", async () => {
  const feed = open();
  await settle();
  look(false);
  await vi.advanceTimersByTimeAsync(HIDDEN_MS - 1);
  expect(Source.all[0]?.readyState).toBe(1);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Source.all[0]?.readyState).toBe(Source.CLOSED);
  expect(connections.at(-1)).toEqual({ kind: "paused" });
  expect(Source.all).toHaveLength(1);
  look(true);
  await settle();
  expect(Source.all[1]?.url).toContain("last_event_id=9-0");
  feed.close();
});

it("keeps the connection of a page that is looked at again soon", async () => {
  const feed = open();
  await settle();
  look(false);
  await vi.advanceTimersByTimeAsync(HIDDEN_MS - 1);
  look(true);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Source.all).toHaveLength(1);
  expect(Source.all[0]?.readyState).toBe(1);
  feed.close();
});
