/** Which types, event time and lateness a sample speaks for. Pure. */
import type { ColumnType } from "../streamFields";
import type { Raw, SampleRows } from "./sampleRows";

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Milliseconds since 1970 of a timestamp, UTC unless it says otherwise; null for another text. */
export function momentOf(text: string): number | null {
  const [, day, time, zone = "Z"] = TIMESTAMP.exec(text) ?? [];
  const moment = day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone}`);
  return Number.isNaN(moment) ? null : moment;
}

function typeOfInteger({ kind, text }: Raw): ColumnType {
  const number = BigInt(text);
  if (number >= LEAST && number <= MOST) return "bigint";
  // No integer type holds it: JSON's number is a double then, and CSV's text stays whole.
  return kind === "number" ? "double" : "string";
}

function typeOfRaw(raw: Raw): ColumnType {
  const { kind, text } = raw;
  if (kind === "boolean" || (kind === "csv" && /^(true|false)$/.test(text))) return "boolean";
  if (kind !== "text" && INTEGER.test(text)) return typeOfInteger(raw);
  if (kind !== "text" && NUMBER.test(text)) return "double";
  if (DATE.test(text)) return "date";
  if (UUID.test(text)) return "uuid";
  if (TIME.test(text)) return "time";
  return momentOf(text) === null ? "string" : "timestamp";
}

/** The type that takes all values of a column; a text if none is known, or nothing else takes them. */
export function typeOf(values: readonly (Raw | null)[]): ColumnType {
  const types = new Set(values.flatMap((value) => (value === null ? [] : [typeOfRaw(value)])));
  const [only] = types;
  if (types.size === 1 && only !== undefined) return only;
  const isOf = (...allowed: ColumnType[]): boolean =>
    types.size > 0 && [...types].every((type) => allowed.includes(type));
  if (isOf("bigint", "double")) return "double";
  return isOf("date", "timestamp") ? "timestamp" : "string";
}

export function columnsOfSample({
  columns,
  rows,
}: SampleRows): readonly { readonly name: string; readonly type: ColumnType }[] {
  return columns.map((name) => ({ name, type: typeOf(rows.map((row) => row.get(name) ?? null)) }));
}

/**
 * How many seconds each tuple is older than the newest one before it, at least 0, in the order of the sample;
 * tuples without an event time are left out.
 */
export function behindOf(sample: SampleRows, eventTime: string): number[] {
  let newest = Number.NEGATIVE_INFINITY;
  return sample.rows.flatMap((row) => {
    const moment = momentOf(row.get(eventTime)?.text ?? "");
    if (moment === null) return [];
    newest = Math.max(newest, moment);
    return [(newest - moment) / 1000];
  });
}

/** The whole seconds of lateness that drop none of the tuples, and at least `least`. */
export function latenessFor(behind: readonly number[], least: number): number {
  return behind.reduce((most, seconds) => Math.max(most, Math.ceil(seconds)), least);
}

/** How many tuples a lateness drops: one that is exactly so late is still in time. */
export function droppedBy(behind: readonly number[], lateness: number): number {
  return behind.filter((seconds) => seconds > lateness).length;
}
