/** Which columns of a query's results are drawn, and what a first look draws. Pure. */
import type { ResultChart } from "../api/documents";

export interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

const NUMBERS = new Set(["bigint", "int", "double", "decimal"]);
const TIMES = new Set(["timestamp", "date"]);

/** `isNumber("decimal(10,2)")` is true. */
export function isNumber(type: string): boolean {
  return NUMBERS.has(type.replace(/\(.*/, ""));
}

export function isTime(type: string): boolean {
  return TIMES.has(type);
}

/** What may lie along the axes, and what may tell results apart. */
export function choices(columns: readonly ResultColumn[]): {
  readonly x: readonly string[];
  readonly y: readonly string[];
  readonly colour: readonly string[];
} {
  const names = (wanted: (type: string) => boolean): string[] =>
    columns.filter(({ type }) => wanted(type)).map(({ name }) => name);
  const times = names(isTime);
  const numbers = names(isNumber);
  return {
    x: [...times, ...numbers, ...names((type) => !isTime(type) && !isNumber(type))],
    y: numbers,
    colour: names((type) => type === "string" || type === "boolean"),
  };
}

/** The first time across and the first number up, or how many results there are; null without a column. */
export function firstChart(columns: readonly ResultColumn[]): ResultChart | null {
  const { x, y } = choices(columns);
  const across = x[0];
  if (across === undefined) return null;
  const up = y.find((name) => name !== across);
  const isOverTime = columns.some(({ name, type }) => name === across && isTime(type));
  return up === undefined || !isOverTime
    ? { mark: "count", x: across, y: null, colour: null }
    : { mark: "dots", x: across, y: up, colour: null };
}

/** A row's values as they are drawn: times as dates, numbers as numbers; null what is missing. */
export function drawn(value: unknown, type: string): Date | number | string | null {
  if (value === null || value === undefined) return null;
  if (isTime(type)) {
    const time = new Date(String(value));
    return Number.isNaN(time.getTime()) ? null : time;
  }
  if (isNumber(type)) {
    const number = Number(value);
    return Number.isFinite(number) ? number : null;
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * As many values as there are colours: the most frequent ones by name, the rest together as `others`.
 *
 * `fewer(["a", "b", "a", "c"], 2)` is `["a", "others", "a", "others"]`.
 */
export function fewer(values: readonly (string | null)[], most: number): string[] {
  const times = new Map<string, number>();
  for (const value of values) times.set(value ?? "NULL", (times.get(value ?? "NULL") ?? 0) + 1);
  if (times.size <= most) return values.map((value) => value ?? "NULL");
  const ranked = [...times].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const named = new Set(ranked.slice(0, most - 1).map(([value]) => value));
  return values.map((value) => (named.has(value ?? "NULL") ? (value ?? "NULL") : "others"));
}
