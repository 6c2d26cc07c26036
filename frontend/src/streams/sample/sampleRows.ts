/** Sample tuples as pasted: JSON, JSON lines, or CSV with a line of names. Pure. */
import { csvParseRows } from "d3";
import { TEXT_OR_NUMBER } from "../../api/exactIntegers";

/** A value as it was written: `10.0` and `10` are the same number, and say different things of their type. */
export interface Raw {
  /** CSV does not say what its texts are. */
  readonly kind: "number" | "boolean" | "text" | "csv";
  readonly text: string;
}

export interface SampleRows {
  /** In the order in which they are first named. */
  readonly columns: readonly string[];
  /** In the order in which they arrived; null where a tuple has no value. */
  readonly rows: readonly ReadonlyMap<string, Raw | null>[];
}

const MOST_CHARACTERS = 1_000_000;
/** What a number begins with once it is kept as a text; as JSON writes it, and as it reads it. */
const [MARK_WRITTEN, MARK] = ["\\u0000number:", "\u0000number:"];

/** The tuples of a sample; throws an `Error` for a person if it has none. */
export function readSample(text: string): SampleRows {
  if (text.trim().length > MOST_CHARACTERS)
    throw new Error("The sample is longer than 1 MB: some hundred tuples are enough.");
  return readRows(text);
}

/** The tuples of a text; throws an `Error` for a person if it has none. */
export function readRows(text: string): SampleRows {
  const trimmed = text.trim();
  const rows = /^[[{]/.test(trimmed) ? readJson(trimmed) : readCsv(trimmed);
  if (rows.length === 0) throw new Error("There is no tuple in it. CSV begins with a line of column names.");
  return { columns: [...new Set(rows.flatMap((row) => [...row.keys()]))], rows };
}

function readJson(text: string): Map<string, Raw | null>[] {
  const parsed = parsedWhole(text) ?? parsedLines(text);
  return parsed.map((tuple, place) => {
    if (typeof tuple !== "object" || tuple === null || Array.isArray(tuple))
      throw new Error(`Tuple ${place + 1} is no JSON object.`);
    return new Map(Object.entries(tuple).map(([name, value]) => [name, rawOf(name, value)]));
  });
}

/** An array of tuples, or one; null if the text is no single JSON value. */
function parsedWhole(text: string): unknown[] | null {
  try {
    const whole = parseWithNumbers(text);
    return Array.isArray(whole) ? whole : [whole];
  } catch {
    return null;
  }
}

function parsedLines(text: string): unknown[] {
  return text.split("\n").flatMap((line, place) => {
    if (line.trim() === "") return [];
    try {
      return [parseWithNumbers(line)];
    } catch {
      throw new Error(`Line ${place + 1} is no JSON.`);
    }
  });
}

/** JSON whose numbers stay as they were written: JavaScript's would lose digits and `.0`. */
function parseWithNumbers(text: string): unknown {
  return JSON.parse(
    text.replaceAll(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${MARK_WRITTEN}${token}"`)),
  );
}

function rawOf(name: string, value: unknown): Raw | null {
  if (value === null) return null;
  if (typeof value === "boolean") return { kind: "boolean", text: String(value) };
  if (typeof value !== "string") throw new Error(`${name} holds an object or a list, which no column can.`);
  return value.startsWith(MARK)
    ? { kind: "number", text: value.slice(MARK.length) }
    : { kind: "text", text: value };
}

function readCsv(text: string): Map<string, Raw | null>[] {
  const [names = [], ...lines] = csvParseRows(text);
  return lines.map((values, place) => {
    if (values.length !== names.length)
      throw new Error(`Tuple ${place + 1} has ${values.length} values, the line of names ${names.length}.`);
    return new Map(
      names.map((name, i) => {
        const value = values[i] ?? "";
        return [name.trim(), value === "" ? null : { kind: "csv", text: value.trim() }];
      }),
    );
  });
}
