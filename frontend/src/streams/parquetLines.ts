/** Tuples of a Parquet file as JSON lines, with all digits of its numbers and moments. */
import { gunzipSync } from "fflate";
import { decompress } from "fzstd";
import { type FileMetaData, parquetMetadataAsync, parquetReadObjects, type SchemaElement } from "hyparquet";
import { explainError } from "../api/request";
import { MOST_TUPLES } from "./sentRows";

/** Beside Snappy, which the reader knows; what writers hardly use has no place in the page. */
const COMPRESSORS = {
  GZIP: (input: Uint8Array, length: number) => gunzipSync(input, { out: new Uint8Array(length) }),
  ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)),
};
const PARSERS = {
  timestampFromMilliseconds: (millis: bigint) => moment(BigInt(millis) * 1000n),
  timestampFromMicroseconds: (micros: bigint) => moment(BigInt(micros)),
  timestampFromNanoseconds: (nanos: bigint) => moment(floorDivided(BigInt(nanos), 1000n)),
  dateFromDays: (days: number) => new Date(days * 86_400_000).toISOString().slice(0, 10),
  jsonFromBytes: (bytes: Uint8Array) => bytes && new TextDecoder().decode(bytes),
};
const UNREADABLE = /^(?:INTERVAL|BSON)/;

/** The text of a value that the file has as a number or as bytes. */
type Text = (stored: unknown) => string;

/** Throws an `Error` for a person where it is no Parquet file, or has what no column can have. */
export async function parquetLines(file: Blob): Promise<string> {
  const bytes = await file.arrayBuffer();
  const metadata = await parquetMetadataAsync(bytes).catch(() => {
    throw new Error("It is no Parquet file, or a damaged one.");
  });
  if (metadata.num_rows > MOST_TUPLES)
    throw new Error(
      `There are ${metadata.num_rows} tuples in it, at most ${MOST_TUPLES} are sent from here.`,
    );
  const columns = flatColumns(metadata);
  const { plain, texts } = withoutTexts(metadata);
  const reading = { compressors: COMPRESSORS, parsers: PARSERS, utf8: false };
  const rows = await parquetReadObjects({ file: bytes, metadata: plain, ...reading }).catch(
    (error: unknown) => {
      throw new Error(`It cannot be read: ${explainError(error)}.`);
    },
  );
  return rows
    .map((row, place) => {
      const values = columns.map((name) => {
        const value = written(row[name], texts.get(name));
        if (value === null)
          throw new Error(
            `Tuple ${place + 1}, ${name}: found ${String(row[name])}, which no JSON number is.`,
          );
        return `${JSON.stringify(name)}:${value}`;
      });
      return `{${values.join(",")}}`;
    })
    .join("\n");
}

function flatColumns({ schema }: FileMetaData): readonly string[] {
  return schema.slice(1).map((element) => {
    if (element.num_children !== undefined || element.repetition_type === "REPEATED")
      throw new Error(`${element.name} holds an object or a list, which no column can.`);
    const kind = element.converted_type ?? element.logical_type?.type ?? "";
    if (UNREADABLE.test(kind))
      throw new Error(`${element.name} is a ${kind.toLowerCase()}, which no column can be.`);
    return element.name;
  });
}

/** The library makes numbers of decimals that lose digits, and of times and UUIDs what says less than their texts. */
function withoutTexts(metadata: FileMetaData): {
  readonly plain: FileMetaData;
  readonly texts: ReadonlyMap<string, Text>;
} {
  const texts = new Map<string, Text>();
  const schema = metadata.schema.map((element): SchemaElement => {
    const text = textOf(element);
    if (text === null) return element;
    texts.set(element.name, text);
    const { converted_type: _, logical_type: __, ...others } = element;
    return others;
  });
  return { plain: { ...metadata, schema }, texts };
}

/** Null for what the library reads as it should. */
function textOf({ converted_type: converted, logical_type: logical, scale }: SchemaElement): Text | null {
  if (converted === "DECIMAL" || logical?.type === "DECIMAL")
    return (stored) => withPoint(unscaled(stored), scale ?? 0);
  if (logical?.type === "UUID") return (stored) => uuid(stored as Uint8Array);
  if (logical?.type === "TIME") return (stored) => timeOfDay(BigInt(stored as number | bigint), logical.unit);
  if (converted === "TIME_MILLIS" || converted === "TIME_MICROS")
    return (stored) => timeOfDay(BigInt(stored as number | bigint), converted.slice("TIME_".length));
  return null;
}

function timeOfDay(stored: bigint, unit: string): string {
  const micros = unit === "MILLIS" ? stored * 1000n : unit === "NANOS" ? stored / 1000n : stored;
  return moment(micros).slice("1970-01-01T".length).replace("Z", "");
}

function uuid(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The value as JSON; null if JSON has none for it. */
function written(value: unknown, text: Text | undefined): string | null {
  if (value === null || value === undefined) return "null";
  if (text !== undefined) return JSON.stringify(text(value));
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : null;
  if (value instanceof Uint8Array) return JSON.stringify(base64(value));
  return JSON.stringify(value);
}

/** A number of two's complement, the highest byte first. */
function unscaled(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint);
  return BigInt.asIntN(
    8 * value.length,
    value.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n),
  );
}

function withPoint(digits: bigint, scale: number): string {
  const [sign, size] = digits < 0n ? ["-", -digits] : ["", digits];
  const text = size.toString().padStart(scale + 1, "0");
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

function moment(micros: bigint): string {
  const seconds = floorDivided(micros, 1_000_000n);
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  const rest = micros - seconds * 1_000_000n;
  return rest === 0n ? `${whole}Z` : `${whole}.${rest.toString().padStart(6, "0")}Z`;
}

function floorDivided(value: bigint, by: bigint): bigint {
  const towardsZero = value / by;
  return value % by < 0n ? towardsZero - 1n : towardsZero;
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
