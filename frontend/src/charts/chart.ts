import type { BaseType, Selection } from "d3";

/** What every chart is: made once in an element, redrawn from data as often as wanted, taken away again. */
export interface Chart<Data> {
  /** Idempotent: drawing the same data twice leaves the same picture. */
  update(data: Data): void;
  dispose(): void;
}

function prefersStillness(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** 200 ms to explain a change, none for people who asked for none. */
export function motionMs(): number {
  return prefersStillness() ? 0 : 200;
}

/** Sets texts that differ: one that is set again is laid out again, even if it says the same. */
export function writeText<Element extends BaseType, Datum>(
  texts: Selection<Element, Datum, BaseType, unknown>,
  value: (datum: Datum) => string,
): void {
  texts
    .filter(function (datum) {
      return (this as Node).textContent !== value(datum);
    })
    .text(value);
}

/** How tall a drawing stands, as CSS: from `least` up, within what a screen can show. */
export function heightOnScreen(height: number, least: number): string {
  return `${Math.round(Math.max(least, Math.min(height, window.innerHeight * 0.72)))}px`;
}
