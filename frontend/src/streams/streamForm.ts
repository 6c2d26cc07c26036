/** What stands in the form of a stream, and what of it is sent. Pure. */
import type { StreamDocument, StreamWrite } from "../api/documents";

export type ColumnType = StreamWrite["columns"][number]["type"];
export const COLUMN_TYPES: readonly ColumnType[] = ["bigint", "int", "double", "string", "boolean", "timestamp", "date", "binary"];

export interface StreamFields {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly eventTime: string;
  /** As typed: seconds. */
  readonly lateness: string;
  readonly late: "drop" | "join";
  readonly rate: string;
  readonly tasks: string;
  /** Empty for none. */
  readonly team: string;
}

export const EMPTY: StreamFields = {
  name: "", description: "", columns: [{ name: "at", type: "timestamp" }], eventTime: "at", lateness: "0", late: "drop", rate: "", tasks: "", team: "",
};

export function fieldsOf(stream: StreamDocument): StreamFields {
  return {
    name: stream.name,
    description: stream.description ?? "",
    columns: stream.columns,
    eventTime: stream.event_time,
    lateness: String((stream.lateness_ms ?? 0) / 1000),
    late: stream.late ?? "drop",
    rate: stream.tuples_per_second === null || stream.tuples_per_second === undefined ? "" : String(stream.tuples_per_second),
    tasks: stream.parallelism === null || stream.parallelism === undefined ? "" : String(stream.parallelism),
    team: stream.team ?? "",
  };
}

/** The columns that can be the event time. */
export function timestamps(fields: StreamFields): string[] {
  return fields.columns.filter((column) => column.type === "timestamp" && column.name !== "").map((column) => column.name);
}

function numberOr(text: string, missing: number | null): number | null {
  return text.trim() === "" ? missing : Number(text);
}

/** What is missing or no number, one line each; the server checks the rest. */
export function faultsOf(fields: StreamFields): string[] {
  const faults: string[] = [];
  if (fields.name === "") faults.push("Give the stream a name.");
  if (fields.columns.some((column) => column.name === "")) faults.push("Give every column a name.");
  if (!timestamps(fields).includes(fields.eventTime)) faults.push("Choose a timestamp column as the event time.");
  for (const [label, text] of [["Lateness", fields.lateness], ["Rate", fields.rate], ["Tasks", fields.tasks]] as const) {
    const value = numberOr(text, 0);
    if (value === null || !Number.isFinite(value) || value < 0) faults.push(`${label} is a number, not ${text}.`);
  }
  return faults;
}

export function documentOf(fields: StreamFields): StreamWrite {
  return {
    name: fields.name,
    description: fields.description,
    event_time: fields.eventTime,
    lateness_ms: Math.round((numberOr(fields.lateness, 0) ?? 0) * 1000),
    late: fields.late,
    parallelism: numberOr(fields.tasks, null),
    tuples_per_second: numberOr(fields.rate, null),
    columns: fields.columns.map(({ name, type }) => ({ name, type })),
    team: fields.team === "" ? null : fields.team,
  };
}

/** Only what differs: columns of a stream in use may not even be named. */
export function changesOf(fields: StreamFields, stream: StreamDocument): Partial<StreamWrite> {
  const [wanted, present] = [documentOf(fields), documentOf(fieldsOf(stream))];
  const changed = Object.entries(wanted).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(present[key as keyof StreamWrite]));
  return Object.fromEntries(changed) as Partial<StreamWrite>;
}
