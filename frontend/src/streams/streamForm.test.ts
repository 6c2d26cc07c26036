import { describe, expect, it } from "vitest";
import type { StreamDocument } from "../api/documents";
import {
  changesOf,
  documentOf,
  EMPTY,
  faultsOf,
  fieldsOf,
  type StreamFields,
  timestamps,
  writersOf,
} from "./streamForm";

const stream: StreamDocument = {
  name: "weather",
  description: "Hourly",
  event_time: "at",
  lateness_ms: 300_000,
  max_ahead_ms: 5_400_000,
  late: "join",
  parallelism: null,
  tuples_per_second: 1.5,
  columns: [
    { name: "at", type: "timestamp" },
    { name: "wind", type: "double" },
  ],
  entries: 3,
  query_count: 0,
  owner: "demo",
  team: null,
  can_edit: true,
  created_at: "2026-11-21T00:00:00Z",
};

describe("the form of a stream", () => {
  it("gives back what it was filled with", () => {
    const {
      name,
      description,
      event_time,
      lateness_ms,
      max_ahead_ms,
      late,
      parallelism,
      tuples_per_second,
      columns,
      team,
    } = stream;
    expect(documentOf(fieldsOf(stream))).toEqual({
      name,
      description,
      event_time,
      lateness_ms,
      max_ahead_ms,
      late,
      parallelism,
      tuples_per_second,
      columns,
      team,
      kafka: null,
    });
    expect(changesOf(fieldsOf(stream), stream)).toEqual({});
  });

  it("sends only what changed, and an emptied number as unknown", () => {
    const fields: StreamFields = { ...fieldsOf(stream), lateness: "2.5", rate: " " };
    expect(changesOf(fields, stream)).toEqual({ lateness_ms: 2500, tuples_per_second: null });
  });

  it("bounds how far event times may lie ahead, a day unless it is told", () => {
    expect(documentOf({ ...EMPTY, name: "gates" }).max_ahead_ms).toBe(86_400_000);
    expect(fieldsOf(stream).maxAhead).toBe("1.5");
    expect(changesOf({ ...fieldsOf(stream), maxAhead: "0" }, stream)).toEqual({ max_ahead_ms: 0 });
    expect(faultsOf({ ...EMPTY, name: "gates", maxAhead: "never" })).toEqual([
      "Time ahead must be a number, not never.",
    ]);
  });

  it("tells who may write, to those who may not", () => {
    expect(writersOf(stream)).toBe(
      "Only demo and operators may change weather, write tuples to it and send its dead letters again.",
    );
    expect(writersOf({ ...stream, team: "airside" })).toContain("Only demo, the team airside and operators");
  });

  it("gives the stream to a team and takes it back", () => {
    expect(changesOf({ ...fieldsOf(stream), team: "airside" }, stream)).toEqual({ team: "airside" });
    expect(
      changesOf({ ...fieldsOf({ ...stream, team: "airside" }), team: "" }, { ...stream, team: "airside" }),
    ).toEqual({ team: null });
  });

  it("says what is missing", () => {
    expect(faultsOf({ ...EMPTY, name: "gates" })).toEqual([]);
    expect(faultsOf(EMPTY)).toEqual(["Give the stream a name."]);
    expect(faultsOf({ ...EMPTY, name: "gates", columns: [{ name: "", type: "int" }], rate: "fast" })).toEqual(
      [
        "Give every column a name.",
        "Choose a timestamp column as the event time.",
        "Rate must be a number, not fast.",
      ],
    );
    expect(timestamps(fieldsOf(stream))).toEqual(["at"]);
  });
});
