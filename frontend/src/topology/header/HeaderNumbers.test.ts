// @vitest-environment jsdom
import { h, render } from "preact";
import { expect, it } from "vitest";
import documents from "../../__fixtures__/documents.json";
import type { TopologyDocument } from "../../api/documents";
import type { BatchCompleted, Snapshot } from "../../live/messages";
import type { Live } from "../../live/useFeed";
import { HeaderNumbers } from "./HeaderNumbers";

const MB = 1024 * 1024;
const base = documents.topologies[0] as TopologyDocument;
const RUN = base.run?.id ?? "";
const batch = (resident_bytes: number | null): BatchCompleted => ({
  type: "batch",
  version: 1,
  run: RUN,
  at: "2026-01-01T00:00:00Z",
  batch: 1,
  epoch: 1,
  plan_id: "P1",
  seconds: 0.2,
  tuples_in: 5,
  backlog: null,
  level_seconds: [],
  streams: {},
  stores: {},
  edges: {},
  queries: {},
  latency_ms_p50: null,
  latency_ms_p99: null,
  resident_bytes,
  shapes: {},
  watermark: null,
});

function shown(limit: number | null, newest: BatchCompleted | null, run = RUN): Record<string, string> {
  const snapshot: Snapshot = {
    last_event_id: "1-0",
    state: "running",
    error: null,
    run,
    plan_id: null,
    epoch: 1,
    heartbeat_at: null,
    launched_at: null,
    phase: null,
    batch: newest,
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
  const live: Live = { snapshot, recent: [], connection: { kind: "connected" }, heardAt: 1_000_000 };
  // What was set since the start is not what the process has.
  const topology: TopologyDocument = {
    ...base,
    queries: [],
    memory_limit_bytes: 1024 * MB,
    run: base.run === null ? null : { ...base.run, memory_limit_bytes: limit },
  };
  const host = document.createElement("div");
  render(h(HeaderNumbers, { live, topology, actions: null }), host);
  return Object.fromEntries(
    [...host.querySelectorAll("dl.numbers > div")].map((one) => [
      one.querySelector("dt")?.textContent ?? "",
      one.querySelector("dd")?.textContent ?? "",
    ]),
  );
}

it("shows what is in memory against the limit that the process has", () => {
  expect(shown(256 * MB, batch(12 * MB))["in memory"]).toBe("12 MB of 256 MB");
  expect(shown(256 * MB, batch(0))["in memory"]).toBe("0 B of 256 MB");
});

it("does not pass off what nobody counts as nothing", () => {
  expect(shown(256 * MB, null)["in memory"]).toBe("– of 256 MB");
  expect(shown(null, batch(null))).not.toHaveProperty("in memory");
  expect(shown(256 * MB, batch(12 * MB), "a later run")).not.toHaveProperty("in memory");
});
