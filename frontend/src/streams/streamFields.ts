/** What stands in the form of a stream, and what of it is sent. Pure. */

import type { Connector, StreamDocument, StreamWrite } from "../api/documents";
import { accountText } from "../ui/AccountName";
import {
  documentOfSettings,
  faultsOfSettings,
  settingsOf,
  type Typed,
  typedOf,
} from "../ui/settings/described";

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
  "uuid",
  "time",
];
/** What a decimal's type begins as: digits in all, and those behind the point. */
export const NEW_DECIMAL = "decimal(18,2)";

/** The digits of a decimal type, as typed; null of another type. */
export function digitsOf(type: ColumnType): string | null {
  return /^decimal\((.*)\)$/.exec(type)?.[1] ?? null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface StreamFields {
  readonly name: string;
  readonly description: string;
  /** A type is empty until it is chosen. */
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly eventTime: string;
  readonly kind: "stream" | "table";
  /** Columns that say of which row of a table a tuple is a version. */
  readonly key: readonly string[];
  /** The boolean column that is true of versions that delete; empty for none. */
  readonly deleted: string;
  /** As typed: seconds. */
  readonly lateness: string;
  /** As typed: hours that an event time may lie ahead of its arrival. */
  readonly maxAhead: string;
  readonly late: "drop" | "join";
  readonly rate: string;
  readonly tasks: string;
  /** Empty for none. */
  readonly team: string;
  /** What brings the tuples; empty if producers send them. */
  readonly connector: string;
  readonly settings: Typed;
  /** What is read before that, to its end; empty for nothing. */
  readonly first: string;
  readonly firstSettings: Typed;
}

/** Seconds that a new stream's form begins with: tuples of several producers seldom come in order. */
export const DEFAULT_LATENESS = 5;

export const EMPTY: StreamFields = {
  name: "",
  description: "",
  columns: [{ name: "at", type: "timestamp" }],
  eventTime: "at",
  kind: "stream",
  key: [],
  deleted: "",
  lateness: String(DEFAULT_LATENESS),
  maxAhead: "24",
  late: "drop",
  rate: "",
  tasks: "",
  team: "",
  connector: "",
  settings: {},
  first: "",
  firstSettings: {},
};

export function fieldsOf(stream: StreamDocument, connectors: readonly Connector[]): StreamFields {
  const connector = connectorOf(stream, connectors);
  const first = firstOf(stream, connectors);
  return {
    name: stream.name,
    description: stream.description ?? "",
    columns: stream.columns,
    eventTime: stream.event_time,
    kind: stream.kind ?? "stream",
    key: stream.key,
    deleted: stream.deleted ?? "",
    lateness: String((stream.lateness_ms ?? 0) / 1000),
    maxAhead: String((stream.max_ahead_ms ?? DAY_MS) / HOUR_MS),
    late: stream.late ?? "drop",
    rate:
      stream.tuples_per_second === null || stream.tuples_per_second === undefined
        ? ""
        : String(stream.tuples_per_second),
    tasks: stream.parallelism === null || stream.parallelism === undefined ? "" : String(stream.parallelism),
    team: stream.team ?? "",
    connector: connector?.name ?? "",
    settings: typedIn(stream, connector),
    first: first?.name ?? "",
    firstSettings: typedIn(stream, first),
  };
}

/** What brings the stream's tuples, in words, as `a Kafka topic, Topic flights`; null if producers send them. */
export function sourceText(stream: StreamDocument, connectors: readonly Connector[]): string | null {
  const parts = [firstOf(stream, connectors), connectorOf(stream, connectors)];
  const told = parts.filter((part) => part !== undefined).map((part) => textOf(stream, part));
  return told.length === 0 ? null : told.join(", then ");
}

function textOf(stream: StreamDocument, connector: Connector): string {
  const settings = typedIn(stream, connector);
  const named = settingsOf(connector.settings).filter(({ required }) => required);
  return [connector.title, ...named.map(({ name, label }) => `${label} ${settings[name]}`)].join(", ");
}

/** True if producers send the stream's tuples, perhaps behind what is read first. */
export function isSentHere(stream: StreamDocument, connectors: readonly Connector[]): boolean {
  return connectorOf(stream, connectors) === undefined;
}

/** The connectors that may be read to their end before another one, or before what is sent. */
export function firstChoices(connectors: readonly Connector[], then: string): readonly Connector[] {
  return connectors.filter(({ precedes }) => precedes !== null && (then === "" || precedes.includes(then)));
}

function connectorOf(stream: StreamDocument, connectors: readonly Connector[]): Connector | undefined {
  return connectors.find(({ name, precedes }) => precedes === null && isRecord(settingsIn(stream, name)));
}

function firstOf(stream: StreamDocument, connectors: readonly Connector[]): Connector | undefined {
  return connectors.find(({ name, precedes }) => precedes !== null && isRecord(settingsIn(stream, name)));
}

function settingsIn(stream: StreamDocument, name: string): unknown {
  const document: Readonly<Record<string, unknown>> = stream;
  return document[name];
}

function typedIn(stream: StreamDocument, connector: Connector | undefined): Typed {
  if (connector === undefined) return {};
  const settings = settingsIn(stream, connector.name);
  return isRecord(settings) ? typedOf(connector.settings, settings) : {};
}

/** Who may change the stream and write tuples to it, for those who may not. */
export function writersOf(stream: StreamDocument): string {
  const team = stream.team === null || stream.team === undefined ? "" : `, the team ${stream.team}`;
  const allowed = `change ${stream.name}, write tuples to it and send its dead letters again`;
  const owner = accountText(stream.owner, stream.owner_is_service);
  return `Only ${owner}${team} and operators may ${allowed}.`;
}

/** The columns that can be the event time. */
export function timestamps(fields: StreamFields): string[] {
  return columnsOf(fields, ["timestamp"]);
}

/** The columns that can be a table's key. */
export function keyColumns(fields: StreamFields): string[] {
  const types = fields.columns.map(({ type }) => type).filter((type) => type !== "double");
  return columnsOf(fields, types).filter((name) => name !== fields.eventTime);
}

/** The named columns of some types. */
export function columnsOf(fields: StreamFields, types: readonly string[]): string[] {
  return fields.columns
    .filter(({ name, type }) => types.includes(type) && name !== "")
    .map(({ name }) => name);
}

function numberOr(text: string, missing: number | null): number | null {
  return text.trim() === "" ? missing : Number(text);
}

/** What is missing or no number, one line each; the server checks the rest. */
export function faultsOf(fields: StreamFields, connectors: readonly Connector[]): string[] {
  const faults: string[] = [];
  if (fields.name === "") faults.push("Give the stream a name.");
  if (fields.columns.some((column) => column.name === "")) faults.push("Give every column a name.");
  const untyped = fields.columns.filter(({ type }) => type === "").map(({ name }) => name);
  if (untyped.length > 0) faults.push(`Choose the type of ${untyped.join(", ")}.`);
  if (!timestamps(fields).includes(fields.eventTime))
    faults.push("Choose a timestamp column as the event time.");
  if (fields.kind === "table" && keyOf(fields).length === 0)
    faults.push("Choose the key of the table: the columns that say of which row a tuple is a version.");
  for (const [label, text] of [
    ["Lateness", fields.lateness],
    ["Time ahead", fields.maxAhead],
    ["Rate", fields.rate],
    ["Tasks", fields.tasks],
  ] as const) {
    const value = numberOr(text, 0);
    if (value === null || !Number.isFinite(value) || value < 0)
      faults.push(`${label} is a number, not ${text}.`);
  }
  for (const connector of connectors) {
    const typed = typedFor(fields, connector.name);
    if (typed !== null) faults.push(...faultsOfSettings(connector.settings, typed));
  }
  return faults;
}

function typedFor(fields: StreamFields, name: string): Typed | null {
  if (name === fields.connector) return fields.settings;
  return name === fields.first ? fields.firstSettings : null;
}

/** By connector its settings, null for those that do not bring the stream's tuples. */
function sourcesOf(fields: StreamFields, connectors: readonly Connector[]): Record<string, unknown> {
  return Object.fromEntries(
    connectors.map((connector) => {
      const typed = typedFor(fields, connector.name);
      return [connector.name, typed === null ? null : documentOfSettings(connector.settings, typed)];
    }),
  );
}

function keyOf(fields: StreamFields): string[] {
  const columns = keyColumns(fields);
  return fields.key.filter((name) => columns.includes(name));
}

export function documentOf(fields: StreamFields, connectors: readonly Connector[]): StreamWrite {
  const isTable = fields.kind === "table";
  return {
    name: fields.name,
    description: fields.description,
    event_time: fields.eventTime,
    // Of a table the server accepts none: versions are late behind the topology's watermark alone.
    lateness_ms: isTable ? 0 : Math.round((numberOr(fields.lateness, 0) ?? 0) * 1000),
    max_ahead_ms: Math.round((numberOr(fields.maxAhead, 24) ?? 24) * HOUR_MS),
    late: isTable ? "drop" : fields.late,
    kind: fields.kind,
    key: isTable ? keyOf(fields) : [],
    deleted: isTable && fields.deleted !== "" ? fields.deleted : null,
    parallelism: numberOr(fields.tasks, null),
    tuples_per_second: numberOr(fields.rate, null),
    columns: fields.columns.map(({ name, type }) => ({ name, type })),
    team: fields.team === "" ? null : fields.team,
    ...sourcesOf(fields, connectors),
  };
}

/** Only what differs: columns of a stream in use may not even be named. */
export function changesOf(
  fields: StreamFields,
  stream: StreamDocument,
  connectors: readonly Connector[],
): Partial<StreamWrite> {
  const present = documentOf(fieldsOf(stream, connectors), connectors);
  const wanted = documentOf(fields, connectors);
  const changed = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(present[key as keyof StreamWrite]),
  );
  return Object.fromEntries(changed) as Partial<StreamWrite>;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
