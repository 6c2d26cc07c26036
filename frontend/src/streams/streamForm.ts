/** What stands in the form of a stream, and what of it is sent. Pure. */
import type { StreamDocument, StreamWrite } from "../api/documents";

export type ColumnType = StreamWrite["columns"][number]["type"];
export const COLUMN_TYPES: readonly ColumnType[] = [
  "bigint",
  "int",
  "double",
  "string",
  "boolean",
  "timestamp",
  "date",
  "binary",
];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface StreamFields {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly eventTime: string;
  /** As typed: seconds. */
  readonly lateness: string;
  /** As typed: hours that an event time may lie ahead of its arrival. */
  readonly maxAhead: string;
  readonly late: "drop" | "join";
  readonly rate: string;
  readonly tasks: string;
  /** Empty for none. */
  readonly team: string;
  /** Empty unless a Kafka topic brings the tuples. */
  readonly topic: string;
  readonly format: "json" | "avro";
  readonly schema: string;
  /** As typed: empty for bare Avro. */
  readonly schemaId: string;
  /** The column of the records' keys; empty for none. */
  readonly key: string;
  readonly recordTime: boolean;
  readonly start: "earliest" | "latest";
  readonly lost: "fail" | "skip";
  readonly mostPerBatch: string;
}

export const EMPTY: StreamFields = {
  name: "",
  description: "",
  columns: [{ name: "at", type: "timestamp" }],
  eventTime: "at",
  lateness: "0",
  maxAhead: "24",
  late: "drop",
  rate: "",
  tasks: "",
  team: "",
  topic: "",
  format: "json",
  schema: "",
  schemaId: "",
  key: "",
  recordTime: false,
  start: "earliest",
  lost: "fail",
  mostPerBatch: "",
};

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

export function fieldsOf(stream: StreamDocument): StreamFields {
  return {
    name: stream.name,
    description: stream.description ?? "",
    columns: stream.columns,
    eventTime: stream.event_time,
    lateness: String((stream.lateness_ms ?? 0) / 1000),
    maxAhead: String((stream.max_ahead_ms ?? DAY_MS) / HOUR_MS),
    late: stream.late ?? "drop",
    rate: textOf(stream.tuples_per_second),
    tasks: textOf(stream.parallelism),
    team: stream.team ?? "",
    ...topicFieldsOf(stream.kafka),
  };
}

function topicFieldsOf(topic: StreamDocument["kafka"]) {
  return {
    topic: topic?.topic ?? "",
    format: topic?.format ?? "json",
    schema: topic?.schema ?? "",
    schemaId: textOf(topic?.schema_id),
    key: topic?.key ?? "",
    recordTime: topic?.record_time ?? false,
    start: topic?.start ?? "earliest",
    lost: topic?.lost ?? "fail",
    mostPerBatch: textOf(topic?.most_per_batch),
  } satisfies Partial<StreamFields>;
}

/** Who may change the stream and write tuples to it, for those who may not. */
export function writersOf(stream: StreamDocument): string {
  const team = stream.team === null || stream.team === undefined ? "" : `, the team ${stream.team}`;
  return `Only ${stream.owner}${team} and operators may change ${stream.name}, write tuples to it and send its dead letters again.`;
}

/** The columns that can be the event time. */
export function timestamps(fields: StreamFields): string[] {
  return fields.columns
    .filter((column) => column.type === "timestamp" && column.name !== "")
    .map((column) => column.name);
}

/** The columns that can hold the records' keys. */
export function keyColumns(fields: StreamFields): string[] {
  return fields.columns
    .filter((column) => (column.type === "string" || column.type === "binary") && column.name !== "")
    .map((column) => column.name);
}

function numberOr(text: string, missing: number | null): number | null {
  return text.trim() === "" ? missing : Number(text);
}

/** What is missing or no number, one line each; the server checks the rest. */
export function faultsOf(fields: StreamFields): string[] {
  const faults: string[] = [];
  if (fields.name === "") faults.push("Give the stream a name.");
  if (fields.columns.some((column) => column.name === "")) faults.push("Give every column a name.");
  if (!timestamps(fields).includes(fields.eventTime))
    faults.push("Choose a timestamp column as the event time.");
  for (const [label, text] of [
    ["Lateness", fields.lateness],
    ["Time ahead", fields.maxAhead],
    ["Rate", fields.rate],
    ["Tasks", fields.tasks],
    ["Schema number", fields.schemaId],
    ["Most records of a batch", fields.mostPerBatch],
  ] as const) {
    const value = numberOr(text, 0);
    if (value === null || !Number.isFinite(value) || value < 0)
      faults.push(`${label} must be a number, not ${text}.`);
  }
  if (fields.topic !== "" && fields.format === "avro" && fields.schema.trim() === "")
    faults.push("Give the Avro schema of the topic's values.");
  return faults;
}

function topicOf(fields: StreamFields): NonNullable<StreamWrite["kafka"]> | null {
  if (fields.topic === "") return null;
  const avro = fields.format === "avro";
  return {
    topic: fields.topic,
    format: fields.format,
    schema: avro ? fields.schema : null,
    schema_id: avro ? numberOr(fields.schemaId, null) : null,
    key: fields.key === "" ? null : fields.key,
    record_time: fields.recordTime,
    start: fields.start,
    lost: fields.lost,
    most_per_batch: numberOr(fields.mostPerBatch, null),
  };
}

export function documentOf(fields: StreamFields): StreamWrite {
  return {
    name: fields.name,
    description: fields.description,
    event_time: fields.eventTime,
    lateness_ms: Math.round((numberOr(fields.lateness, 0) ?? 0) * 1000),
    max_ahead_ms: Math.round((numberOr(fields.maxAhead, 24) ?? 24) * HOUR_MS),
    late: fields.late,
    parallelism: numberOr(fields.tasks, null),
    tuples_per_second: numberOr(fields.rate, null),
    columns: fields.columns.map(({ name, type }) => ({ name, type })),
    team: fields.team === "" ? null : fields.team,
    kafka: topicOf(fields),
  };
}

/** Only what differs: columns of a stream in use may not even be named. */
export function changesOf(fields: StreamFields, stream: StreamDocument): Partial<StreamWrite> {
  const [wanted, present] = [documentOf(fields), documentOf(fieldsOf(stream))];
  const changed = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(present[key as keyof StreamWrite]),
  );
  return Object.fromEntries(changed) as Partial<StreamWrite>;
}
