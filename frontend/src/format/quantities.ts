/** What the pages show for a number that nobody knows. Never a zero: zero is a measurement. */
export const UNKNOWN = "–";

type Quantity = number | null | undefined;

const DECIMAL = ["", "k", "M", "G", "T"] as const;
const BINARY = ["B", "KB", "MB", "GB", "TB"] as const;

function known(value: Quantity): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** Three significant digits at most, no trailing zeros: 12.4, 310, 0.85, 0.0021. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 0.1) return value.toPrecision(2).replace(/(\.\d*?)0+$/, "$1");
  const places = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2;
  const text = value.toFixed(places);
  return places > 0 ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value: number, step: number, units: readonly string[]): [string, string] {
  let rest = value;
  let unit = 0;
  // 999.5 would print as 1000, so it already belongs to the next unit.
  while (Math.abs(rest) >= step * 0.9995 && unit < units.length - 1) {
    rest /= step;
    unit += 1;
  }
  return [digits(rest), units[unit] ?? ""];
}

/** `count(12_431)` is "12.4 k"; `count(7)` is "7"; `count(null)` is a dash. */
export function count(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  const [number, unit] = scaled(value, 1000, DECIMAL);
  return unit === "" ? number : `${number} ${unit}`;
}

/**
 * Processor time, given in millionths of a core: `cores(420_000)` is "0.42 cores", `cores(4.5)` "4.5 µcores".
 */
export function cores(millionths: Quantity): string {
  if (!known(millionths)) return UNKNOWN;
  const size = Math.abs(millionths);
  return size > 0 && size < 1000 ? `${count(millionths)} µcores` : `${count(millionths / 1e6)} cores`;
}

/** The same for a column of them, small ones in thousandths: `coresText(0.0042)` is "4.2 m". */
export function coresText(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  return value === 0 || value >= 0.1 ? digits(value) : `${digits(value * 1000)} m`;
}

const WHOLE = new Intl.NumberFormat("en-US");

/** Every digit: `whole(12_431)` is "12,431". */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** `plural(1, "task")` is "1 task"; `plural(2, "query", "queries")` is "2 queries". */
export function plural(value: number, one: string, more = `${one}s`): string {
  return `${whole(value)} ${value === 1 ? one : more}`;
}

/**
 * Tuples per second: `rate(12_431)` is "12.4 k/s"; slow ones per minute or hour: `rate(0.0104)` is "37.4/h".
 */
export function rate(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size === 0 || size >= 0.1) return `${count(value)}/s`;
  return size >= 1 / 60 ? `${count(value * 60)}/min` : `${count(value * 3600)}/h`;
}

/** Bytes in powers of 1024: `bytes(327_155_712)` is "312 MB". */
export function bytes(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  return scaled(value, 1024, BINARY).join(" ");
}

/** A short span: `milliseconds(85)` is "85 ms", `milliseconds(1_250)` is "1.25 s". */
export function milliseconds(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  if (Math.abs(value) < 999.5) return `${digits(value)} ms`;
  if (Math.abs(value) < 59_950) return `${digits(value / 1000)} s`;
  return span(value);
}

/** A window or an age in its two largest units: `span(5_400_000)` is "1 h 30 min". */
export function span(value: Quantity): string {
  if (!known(value)) return UNKNOWN;
  if (value < 0) return `-${span(-value)}`;
  if (value < 1000) return `${digits(value)} ms`;
  let rest = Math.round(value / 1000);
  const parts: string[] = [];
  for (const [unit, seconds] of [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ] as const) {
    const whole = Math.floor(rest / seconds);
    rest -= whole * seconds;
    if (whole > 0) parts.push(`${whole} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** A window: `windowLength(null)` is unbounded, which is known and therefore not a dash. */
export function windowLength(milliseconds: number | null): string {
  return milliseconds === null ? "unbounded" : span(milliseconds);
}

/** A fraction: `percent(0.184)` is "18.4 %". */
export function percent(value: Quantity): string {
  return known(value) ? `${digits(value * 100)} %` : UNKNOWN;
}

/** A difference with its sign: `signed(0.18, percent)` is "+18 %". */
export function signed(value: Quantity, format: (value: number) => string): string {
  if (!known(value)) return UNKNOWN;
  return value > 0 ? `+${format(value)}` : value < 0 ? `−${format(-value)}` : `±${format(0)}`;
}

/**
 * How the actual compares with the estimate: "×1.09"; a dash unless both are known and the estimate is
 * positive.
 */
export function ratio(actual: Quantity, estimate: Quantity): string {
  return known(actual) && known(estimate) && estimate > 0 ? `×${digits(actual / estimate)}` : UNKNOWN;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Time of day in UTC, like everything in Millrace: "12:04:31". */
export function clock(iso: string | null | undefined): string {
  const time = iso === null || iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return UNKNOWN;
  const date = new Date(time);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
}

/** Day and time in UTC: "2013-01-05 12:04:31". */
export function instant(iso: string | null | undefined): string {
  const time = iso === null || iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return UNKNOWN;
  const date = new Date(time);
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ${clock(iso)}`;
}

/** How long ago, at a given now (milliseconds since 1970): "12 s ago". */
export function ago(iso: string | null | undefined, now: number): string {
  const time = iso === null || iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return UNKNOWN;
  return now - time < 1000 ? "just now" : `${span(now - time)} ago`;
}

/** Any value of a result or sample row; NULL is written as SQL writes it. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number")
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(8)));
  if (typeof value === "string") {
    return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(value) ? instant(value) : value;
  }
  return typeof value === "boolean" ? String(value) : JSON.stringify(value);
}
