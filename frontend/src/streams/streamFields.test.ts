import { describe, expect, it } from "vitest";
import type { Connector, StreamDocument } from "../api/documents";
import * as form from "./streamFields";
import { EMPTY, type StreamFields, timestamps, writersOf } from "./streamFields";

const stream: StreamDocument = {
  name: "weather",
  description: "Hourly",
  event_time: "at",
  lateness_ms: 300_000,
  max_ahead_ms: 5_400_000,
  late: "join",
  key: [],
  parallelism: null,
  tuples_per_second: 1.5,
  columns: [
    { name: "at", type: "timestamp" },
    { name: "wind", type: "double" },
  ],
  entries: 3,
  query_count: 0,
  owner: "demo",
  owner_is_service: false,
  team: null,
  can_edit: true,
  created_at: "2026-11-21T00:00:00Z",
};

const connectors: readonly Connector[] = [
  {
    name: "tail",
    title: "a file that grows",
    missing: null,
    precedes: null,
    settings: {
      properties: {
        path: { type: "string", title: "Path", description: "Of the file", maxLength: 40 },
        format: {
          enum: ["json", "xml"],
          type: "string",
          title: "Lines",
          description: "What they are",
          default: "json",
          "x-labels": { json: "JSON" },
        },
        schema: {
          anyOf: [{ type: "string" }, { type: "null" }],
          title: "Schema",
          description: "Of XML",
          default: null,
          "x-lines": 4,
          "x-when": { format: "xml" },
        },
        key: {
          anyOf: [{ type: "string" }, { type: "null" }],
          title: "Key",
          description: "Its column",
          default: null,
          "x-columns": ["string"],
        },
        follow: { type: "boolean", title: "Goes on", description: "At the end", default: true },
        most: {
          anyOf: [{ type: "integer" }, { type: "null" }],
          title: "Most lines",
          description: "Of a batch",
          default: null,
        },
      },
      required: ["path"],
    },
  },
  {
    name: "shelf",
    title: "books first",
    missing: null,
    precedes: ["tail"],
    settings: {
      properties: { row: { type: "string", title: "Row", description: "Of the shelf" } },
      required: ["row"],
    },
  },
];
const documentOf = (fields: StreamFields) => form.documentOf(fields, connectors);
const fieldsOf = (document: StreamDocument) => form.fieldsOf(document, connectors);
const changesOf = (fields: StreamFields, before: StreamDocument) =>
  form.changesOf(fields, before, connectors);
const faultsOf = (fields: StreamFields) => form.faultsOf(fields, connectors);

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
      kind: "stream",
      key: [],
      deleted: null,
      parallelism,
      tuples_per_second,
      columns,
      team,
      tail: null,
      shelf: null,
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
      "Time ahead is a number, not never.",
    ]);
  });

  it("tells who may write, to those who may not", () => {
    expect(writersOf(stream)).toBe(
      "Only demo and operators may change weather, write tuples to it and send its dead letters again.",
    );
    expect(writersOf({ ...stream, team: "airside" })).toContain("Only demo, the team airside and operators");
  });

  it("tells what brings the tuples, if producers do not send them", () => {
    const tail = { path: "a.json", format: "json", schema: null, key: null, follow: true, most: null };
    expect(form.sourceText({ ...stream, ...{ tail } }, connectors)).toBe("a file that grows, Path a.json");
    expect(form.sourceText(stream, connectors)).toBeNull();
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
        "Rate is a number, not fast.",
      ],
    );
    expect(timestamps(fieldsOf(stream))).toEqual(["at"]);
  });

  it("asks for what a connector declares, and gives it back", () => {
    const tail = { path: "a.json", format: "json", schema: null, key: "id", follow: false, most: 5 };
    const fields = fieldsOf({ ...stream, ...{ tail } });
    expect(fields).toMatchObject({
      connector: "tail",
      settings: { path: "a.json", schema: "", key: "id", follow: "false", most: "5" },
    });
    expect(documentOf(fields)).toMatchObject({ tail });
    expect(changesOf({ ...fields, connector: "" }, { ...stream, ...{ tail } })).toEqual({ tail: null });
    expect(
      changesOf({ ...fields, settings: { ...fields.settings, most: "" } }, { ...stream, ...{ tail } }),
    ).toEqual({ tail: { ...tail, most: null } });
  });

  it("knows what is read first, before a connector or what producers send", () => {
    const tail = { path: "a.json", format: "json", schema: null, key: null, follow: true, most: null };
    const shelf = { row: "7" };
    const both = { ...stream, ...{ tail, shelf } };
    expect(fieldsOf(both)).toMatchObject({ connector: "tail", first: "shelf", firstSettings: { row: "7" } });
    expect(documentOf(fieldsOf(both))).toMatchObject({ tail, shelf });
    expect(changesOf({ ...fieldsOf(both), first: "" }, both)).toEqual({ shelf: null });
    expect(form.sourceText(both, connectors)).toBe("books first, Row 7, then a file that grows, Path a.json");
    expect(form.isSentHere(both, connectors)).toBe(false);
    const sent = { ...stream, ...{ shelf } };
    expect(fieldsOf(sent)).toMatchObject({ connector: "", first: "shelf" });
    expect(form.sourceText(sent, connectors)).toBe("books first, Row 7");
    expect(form.isSentHere(sent, connectors)).toBe(true);
    expect(faultsOf({ ...fieldsOf(sent), firstSettings: { row: "" } })).toEqual(["Row is missing."]);
    expect(form.firstChoices(connectors, "tail").map(({ name }) => name)).toEqual(["shelf"]);
    expect(form.firstChoices(connectors, "other")).toEqual([]);
  });

  it("sends nothing of a setting that does not matter, and says which one is missing", () => {
    const settings = { path: "", format: "json", schema: "<x/>", key: "", follow: "true", most: "many" };
    const fields: StreamFields = { ...EMPTY, name: "gates", connector: "tail", settings };
    expect(documentOf(fields)).toMatchObject({ tail: { schema: null, key: null, follow: true } });
    expect(documentOf({ ...fields, settings: { ...settings, format: "xml" } })).toMatchObject({
      tail: { schema: "<x/>" },
    });
    expect(faultsOf(fields)).toEqual(["Path is missing.", "Most lines is a whole number, not many."]);
  });
});

describe("a table", () => {
  const columns = [
    { name: "at", type: "timestamp" },
    { name: "tail", type: "string" },
    { name: "seats", type: "double" },
    { name: "gone", type: "boolean" },
  ] as const;
  const planes: StreamFields = { ...EMPTY, name: "planes", columns, kind: "table", deleted: "gone" };

  it("has a key, of columns that can be one", () => {
    expect(form.keyColumns(planes)).toEqual(["tail", "gone"]);
    expect(form.faultsOf(planes, [])[0]).toContain("Choose the key of the table");
    expect(form.faultsOf({ ...planes, key: ["tail"] }, [])).toEqual([]);
  });

  it("is sent without a lateness, and without columns that left", () => {
    const sent = form.documentOf({ ...planes, key: ["tail", "dropped"], late: "join" }, []);
    expect(sent).toMatchObject({
      kind: "table",
      key: ["tail"],
      deleted: "gone",
      lateness_ms: 0,
      late: "drop",
    });
    const stream = form.documentOf({ ...planes, key: ["tail"], kind: "stream" }, []);
    expect(stream).toMatchObject({ kind: "stream", key: [], deleted: null, lateness_ms: 5000 });
  });
});
