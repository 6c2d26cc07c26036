/** What a schema of the registry says for a stream's form. Pure. */

import type { SubjectColumns } from "../api/documents";
import type { ColumnType, StreamFields } from "./streamFields";

/** True if values of the stream name their schemas in the registry. */
export function hasRegistry({ connector, settings }: StreamFields): boolean {
  return connector === "kafka" && settings.registry === "true";
}

/** The subject that a topic's values have unless their producers say otherwise. */
export function subjectOf({ settings }: StreamFields): string {
  return settings.topic ? `${settings.topic}-value` : "";
}

/**
 * The schema's columns as the form's. The columns of the record's key and of its time are not in values, so
 * they stay.
 */
export function fieldsOfSubject(
  found: SubjectColumns,
  fields: StreamFields,
): Pick<StreamFields, "columns" | "eventTime"> {
  const read = found.columns.flatMap(({ name, type }) =>
    type === null ? [] : [{ name, type: type as ColumnType }],
  );
  const outside = [fields.settings.key, fields.settings.record_time === "true" ? fields.eventTime : ""];
  const kept = fields.columns.filter(
    ({ name }) => name !== "" && outside.includes(name) && !read.some((one) => one.name === name),
  );
  const columns = [...kept, ...read];
  const times = columns.filter(({ type }) => type === "timestamp").map(({ name }) => name);
  const only = times.length === 1 ? (times[0] ?? "") : "";
  return { columns, eventTime: times.includes(fields.eventTime) ? fields.eventTime : only };
}

/** Which schema it was, and what of it is no column; null leaves nothing out. */
export function leftOutText({ columns }: SubjectColumns): string | null {
  const left = columns.filter(({ type }) => type === null).map(({ name, found }) => `${name} (${found})`);
  return left.length === 0 ? null : `Left out, for they are of no column type: ${left.join(", ")}.`;
}
