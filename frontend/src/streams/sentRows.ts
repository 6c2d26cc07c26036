/** Tuples of a file as the API takes them: JSON lines, in parts that a request holds. Pure. */
import type { StreamDocument } from "../api/documents";
import { type Raw, readRows } from "./sample/sampleRows";

/** A page holds them as text; a program sends more. */
export const MOST_TUPLES = 50_000;
const PART_TUPLES = 2_000;
const PART_CHARACTERS = 1_000_000;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export interface Part {
  /** The place of its first tuple in the file, from 0. */
  readonly first: number;
  readonly lines: readonly string[];
}

/**
 * The tuples of a text, in its order; throws an `Error` for a person where a value cannot be the column's, or
 * a column is not the stream's.
 */
export function partsOf(text: string, stream: Pick<StreamDocument, "name" | "columns">): readonly Part[] {
  const { columns, rows } = readRows(text);
  const types = new Map(stream.columns.map(({ name, type }) => [name, type]));
  const unknown = columns.find((name) => !types.has(name));
  if (unknown !== undefined)
    throw new Error(
      `${stream.name} has no column ${unknown}; it has ${stream.columns.map(({ name }) => name).join(", ")}.`,
    );
  if (rows.length > MOST_TUPLES)
    throw new Error(`There are ${rows.length} tuples in it, at most ${MOST_TUPLES} are sent from here.`);
  const parts: Part[] = [];
  let lines: string[] = [];
  let characters = 0;
  rows.forEach((row, place) => {
    const values = [...row].map(([name, raw]) => {
      const value = raw === null ? "null" : written(raw, types.get(name) ?? "string");
      if (value === null)
        throw new Error(
          `Tuple ${place + 1}, ${name}: found ${raw?.text}, expected a ${types.get(name) ?? "value"}.`,
        );
      return `${JSON.stringify(name)}:${value}`;
    });
    const line = `{${values.join(",")}}`;
    if (lines.length === PART_TUPLES || characters + line.length > PART_CHARACTERS) {
      if (lines.length > 0) parts.push({ first: place - lines.length, lines });
      lines = [];
      characters = 0;
    }
    lines.push(line);
    characters += line.length;
  });
  return [...parts, { first: rows.length - lines.length, lines }];
}

/** The value in JSON, with all the digits that it was written with; null if a CSV's text is no such value. */
function written({ kind, text }: Raw, type: string): string | null {
  if (kind === "number" || kind === "boolean") return text;
  if (kind === "text") return JSON.stringify(text);
  if (type === "boolean") return /^(true|false)$/i.test(text) ? text.toLowerCase() : null;
  const isNumber = type === "int" || type === "bigint" || type === "double" || type.startsWith("decimal");
  if (isNumber) return NUMBER.test(text) ? text : null;
  return JSON.stringify(text);
}
