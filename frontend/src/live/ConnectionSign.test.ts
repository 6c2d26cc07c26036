import { expect, it } from "vitest";
import { EMPTY } from "./__fixtures__/snapshot";
import { STALE_MS, signOf } from "./ConnectionSign";
import type { Snapshot } from "./messages";
import type { Live } from "./useFeed";

const snapshot: Snapshot = { ...EMPTY, last_event_id: "1-0", state: "running", run: "a" };
const live = (changes: Partial<Live>): Live => ({
  snapshot,
  recent: [],
  connection: { kind: "connected" },
  heardAt: 1_000_000,
  ...changes,
});

it("trusts a running job only while it hears from it", () => {
  expect(signOf(live({}), 1_000_000 + STALE_MS).kind).toBe("connected");
  expect(signOf(live({}), 1_000_001 + STALE_MS)).toEqual({ kind: "stale", text: "stale since 00:16:40 UTC" });
});

it("expects nothing from a stopped job", () => {
  expect(signOf(live({ snapshot: { ...snapshot, state: "stopped" } }), 9_000_000).kind).toBe("connected");
});

it("says why it reconnects and since when the page is old", () => {
  const sign = signOf(
    live({ connection: { kind: "reconnecting", since: 1, reason: "the live connection broke" } }),
    2_000_000,
  );
  expect(sign).toEqual({
    kind: "reconnecting",
    text: "reconnecting: the live connection broke, stale since 00:16:40 UTC",
  });
});

it("says that it is signed out, and since when the page is old", () => {
  expect(signOf(live({ connection: { kind: "signed-out" } }), 2_000_000)).toEqual({
    kind: "signed-out",
    text: "signed out, stale since 00:16:40 UTC",
  });
});

it("says how often it is renewed where too many pages are open", () => {
  expect(signOf(live({ connection: { kind: "polling", seconds: 10 } }), 2_000_000).text).toBe(
    "too many live pages open: refreshed every 10 s",
  );
});
