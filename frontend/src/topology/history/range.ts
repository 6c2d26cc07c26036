/** Which time is looked at, as the page's address and its fields say it. Pure; milliseconds since 1970. */
import type { Span } from "../../charts/series/timeBrush";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const PRESETS = { hour: HOUR, day: DAY, week: 7 * DAY, quarter: 91 * DAY } as const;
export type Preset = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as Preset[];
/** As long as anything is kept. */
const KEPT = 400 * DAY;

export interface Range {
  /** Up to now. */
  readonly past: Preset;
  /** The part of it, or of a longer time, that is shown; null is all of it. */
  readonly zoom: Span | null;
}

/** `rangeOf("week", null, null)` is the last week; what cannot be read is as if it were not there. */
export function rangeOf(past: string | null, from: string | null, to: string | null): Range {
  const zoom = { from: Date.parse(from ?? ""), to: Date.parse(to ?? "") };
  return {
    past: PRESET_NAMES.find((name) => name === past) ?? "day",
    zoom: zoom.from < zoom.to ? zoom : null,
  };
}

/** True if what is shown began before the preset's time. */
export function isLonger({ past, zoom }: Range, now: number): boolean {
  return zoom !== null && zoom.from < now - PRESETS[past];
}

/** The whole time that the brush lies over: the preset's, or longer if what is shown began before it. */
export function wholeOf(range: Range, now: number): Span {
  const begin = isLonger(range, now) ? (range.zoom?.from ?? 0) : now - PRESETS[range.past];
  return { from: Math.max(now - KEPT, begin), to: now };
}

/** For a field of day and time, and with a Z behind it for the address: `2026-11-26T11:40`, UTC. */
export function fieldText(time: number): string {
  return new Date(time).toISOString().slice(0, 16);
}

/** What a field of day and time says, as UTC; null if it says nothing. */
export function fieldTime(text: string): number | null {
  const time = Date.parse(`${text}Z`);
  return Number.isNaN(time) ? null : time;
}
