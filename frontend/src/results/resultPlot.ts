/** Results as lines, dots or counts, drawn by Observable Plot. */
import type { Markish } from "@observablehq/plot";
import type { ResultChart } from "../api/documents";
import { STREAM_SLOTS } from "../colour/streams";
import { drawn, fewer, isTime, type ResultColumn } from "./chart";

type Plot = typeof import("@observablehq/plot");

export interface ResultPlotData {
  readonly chart: ResultChart;
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly width: number;
}

const HEIGHT = 240;
const COLOURS = Array.from({ length: STREAM_SLOTS }, (_, slot) => `var(--stream-${slot})`);

/** What the picture shows, in words. */
export function describe({ chart, rows }: Pick<ResultPlotData, "chart" | "rows">): string {
  const what = chart.y === null || chart.y === undefined ? "Number of results" : chart.y;
  const apart = chart.colour === null || chart.colour === undefined ? "" : `, by ${chart.colour}`;
  return `${what} by ${chart.x}${apart}, of the newest ${rows.length} results`;
}

export function drawResults(plot: Plot, data: ResultPlotData): Element {
  const { chart, columns, rows, width } = data;
  const typeOf = (name: string): string => columns.find((column) => column.name === name)?.type ?? "string";
  const values = (name: string | null | undefined) =>
    name === null || name === undefined ? null : rows.map((row) => drawn(row[name], typeOf(name)));
  const x = values(chart.x) ?? [];
  const y = values(chart.y);
  const told = values(chart.colour);
  const colour = told === null ? null : fewer(told.map(textOf), STREAM_SLOTS);
  const picture = plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 52,
    style: { background: "transparent", color: "var(--text)", fontFamily: "inherit", fontSize: "12px" },
    x: { label: chart.x, ...(isTime(typeOf(chart.x)) ? { type: "utc" } : {}) },
    y: { label: chart.y ?? "results", grid: true, nice: true },
    color: { type: "categorical", range: COLOURS, legend: colour !== null },
    marks: markOf(plot, chart, { x, y, colour }, typeof x.find((value) => value !== null) === "string"),
  });
  // With a legend, the drawing is one of the parts of a figure.
  const drawing = picture instanceof SVGElement ? picture : picture.querySelector(":scope > svg");
  // It is one picture to a screen reader, and has no named parts.
  for (const part of drawing?.querySelectorAll("[aria-label]") ?? []) part.removeAttribute("aria-label");
  drawing?.setAttribute("role", "img");
  drawing?.setAttribute("aria-label", describe(data));
  return picture;
}

function textOf(value: Date | number | string | null): string | null {
  return value === null ? null : value instanceof Date ? value.toISOString() : String(value);
}

type Values = (Date | number | string | null)[];

function markOf(
  plot: Plot,
  chart: ResultChart,
  { x, y, colour }: { readonly x: Values; readonly y: Values | null; readonly colour: Values | null },
  isText: boolean,
): Markish[] {
  const paint = colour ?? "var(--accent)";
  if (y === null) {
    const group = { x, fill: paint, inset: 0.5 };
    return [
      isText
        ? plot.barY(x, plot.groupX({ y: "count" }, group))
        : plot.rectY(x, plot.binX({ y: "count" }, group)),
      plot.ruleY([0]),
    ];
  }
  const place = { x, y, stroke: paint };
  return [
    chart.mark === "line"
      ? plot.lineY(x, { ...place, sort: { channel: "x" } })
      : plot.dot(x, { ...place, r: 2.5 }),
  ];
}
