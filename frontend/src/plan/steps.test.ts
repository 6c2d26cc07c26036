import { describe, expect, it } from "vitest";
import { batchCompleted, type EpochCompleted } from "../live/messages";
import document_ from "./__fixtures__/flights.graph.json";
import { parseGraph } from "./physicalGraph";
import { compare, elementLabel, stepRows, storeCompared, streamRows } from "./steps";

const graph = parseGraph(document_);
const batch = batchCompleted.parse({
  type: "batch",
  version: 1,
  run: "a1",
  at: "2026-01-01T00:00:00Z",
  batch: 1,
  epoch: 1,
  plan_id: "P1",
  seconds: 0.2,
  tuples_in: 100,
  backlog: null,
  level_seconds: [0.1, 0.2],
  stores: {},
  queries: {},
  streams: {
    departures: {
      accepted: 40,
      late: 2,
      undecodable: 1,
      watermark: "2026-01-01T00:00:00Z",
      max_event_time: "2026-01-01T00:05:00Z",
    },
  },
  edges: { "E-d-w": { tuples: 40, messages: 2, bytes: 900 } },
});
const statistics: EpochCompleted = {
  type: "epoch",
  version: 1,
  run: "a1",
  at: "2026-01-01T00:00:00Z",
  epoch: 1,
  plan_id: "P1",
  first_batch: 0,
  last_batch: 1,
  event_seconds: 10,
  until_us: null,
  accepted: { departures: 80 },
  edges: { "E-d-w": 80 },
  rules: { "P-d-w": 20 },
  held: { "S-weather": 30 },
  sent: 80,
  rates: { "E-d-w": { estimated: 1, actual: 8 }, "P-d-w": { estimated: 1, actual: 2 } },
  stores: {},
  cores: { "P-d-w": { estimated: 0.1, measured: 0.3, reason: "3.0 times as many" } },
  total_cores: null,
  process_cores: null,
  shapes: {},
  q_error: null,
};

describe("compare", () => {
  it("is the larger over the smaller, and counts less than one tuple as half a one", () => {
    expect(compare(2, 8, 10).qError).toBe(4);
    expect(compare(8, 2, 10).qError).toBe(4);
    expect(compare(1, 0, 10).qError).toBe(20);
    expect(compare(0, 0, 10).qError).toBe(1);
  });

  it("knows nothing without both, or without time", () => {
    expect(compare(null, 8, 10)).toEqual({ estimated: null, actual: 8, qError: null });
    expect(compare(2, undefined, 10).qError).toBeNull();
    expect(compare(2, 8, 0).qError).toBeNull();
  });
});

describe("stepRows", () => {
  it("has a row per receiving rule, by level, with the batch's numbers and the epoch's comparison", () => {
    const rows = stepRows(graph, batch, statistics);
    expect(rows.map((row) => row.id).sort()).toEqual(
      graph.rules.flatMap((rule) => (rule.kind === "source" ? [] : [rule.id])).sort(),
    );
    expect(rows.map((row) => row.level)).toEqual([...rows.map((row) => row.level)].sort());
    const step = rows.find((row) => row.id === "P-d-w");
    expect(step).toMatchObject({ from: "departures", what: "probes", tuples: 40, messages: 2, bytes: 900 });
    expect(step?.sent).toEqual({ estimated: 1, actual: 8, qError: 8 });
    expect(step?.made.actual).toBe(2);
    expect(step?.cores).toEqual({ estimated: 0.1, measured: 0.3, reason: "3.0 times as many" });
    expect(rows.filter((row) => row.what === "stores").every((row) => row.cores === null)).toBe(true);
  });

  it("compares with what the plan was chosen for where the epoch has no estimate of its own", () => {
    const rates = { "E-d-w": { estimated: null, actual: 8 } };
    const step = stepRows(graph, batch, { ...statistics, rates }).find((row) => row.id === "P-d-w");
    const estimate = graph.estimates.find((entry) => entry.id === "E-d-w")?.tuples_per_second ?? 0;
    // Less than half a tuple was expected in these ten seconds.
    expect(estimate).toBeLessThan(0.05);
    expect(step?.sent).toEqual({ estimated: estimate, actual: 8, qError: 8 / 0.05 });
  });

  it("shows unknown and not zero before a batch and an epoch", () => {
    const row = stepRows(graph, null, null).find((candidate) => candidate.id === "P-d-w");
    expect(row).toMatchObject({ tuples: null, messages: null, bytes: null });
    expect(row?.sent).toMatchObject({ actual: null, qError: null });
  });
});

describe("stores, streams and labels", () => {
  it("put the average held beside the estimate", () => {
    const estimated = graph.estimates.find((entry) => entry.id === "S-weather")?.tuples ?? 0;
    expect(storeCompared(graph, "S-weather", statistics)).toEqual({
      estimated,
      actual: 30,
      qError: Math.max(30 / estimated, estimated / 30),
    });
    expect(storeCompared(graph, "S-weather", null).actual).toBeNull();
    const newer = { ...statistics, stores: { "S-weather": 60 } };
    expect(storeCompared(graph, "S-weather", newer)).toEqual({ estimated: 60, actual: 30, qError: 2 });
  });

  it("tell rate, lateness and watermark of every stream", () => {
    const rows = streamRows(graph, batch, statistics);
    expect(rows.map((row) => row.name)).toEqual(graph.streams.map((stream) => stream.name));
    expect(rows.find((row) => row.name === "departures")).toMatchObject({
      rate: 8,
      accepted: 40,
      late: 2,
      undecodable: 1,
      watermark: "2026-01-01T00:00:00Z",
      history: "",
    });
    expect(rows.find((row) => row.name === "weather")).toMatchObject({ rate: null, accepted: null });
  });

  it("tell how far a stream is in its history", () => {
    const { departures } = batch.streams;
    if (departures === undefined) throw new Error("the batch has departures");
    const reading = { ...departures, history_files_read: 12, history_files: 40 };
    const [row] = streamRows(graph, { ...batch, streams: { departures: reading } }, statistics).filter(
      ({ name }) => name === "departures",
    );
    expect(row?.history).toBe("reads its history: 12 of 40 files");
  });

  it("name elements by what they join", () => {
    expect(elementLabel(graph, "E-d-w")).toBe("departures → weather");
    expect(elementLabel(graph, "P-d-w")).toBe("result departures ⋈ weather");
    expect(elementLabel(graph, "gone")).toBe("gone");
  });
});
