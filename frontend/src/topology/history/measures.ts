/** The lines of a topology's past, from its periods. Pure. */
import type { HistoryPeriod, TopologyHistory } from "../../api/documents";
import type { Series, SeriesPlotData } from "../../charts/series/seriesPlot";
import type { Span } from "../../charts/series/timeBrush";
import { spanTicks } from "../../charts/spanTicks";
import { bytes, clock, coresText, count, milliseconds, rate } from "../../format/quantities";

const ACCENT = "var(--accent)";
const WARN = "var(--warn)";
const BAD = "var(--bad)";
const GOOD = "var(--good)";

/** A period, or null where there was none. */
interface Place {
  readonly at: Date;
  readonly period: HistoryPeriod | null;
}

/** The periods with a nothing in every gap between them, so that no line is drawn over it. */
export function placesOf({ periods, resolution }: TopologyHistory, span: Span): Place[] {
  const places: Place[] = [];
  const step = resolution * 1000;
  for (const period of periods) {
    const start = Date.parse(period.start);
    if (start < span.from || start > span.to) continue;
    const before = places.at(-1);
    if (before !== undefined && start - before.at.getTime() > step)
      places.push({ at: new Date(before.at.getTime() + step), period: null });
    places.push({ at: new Date(start), period });
  }
  return places;
}

type Of = (period: HistoryPeriod) => number | null;
type Line = readonly [name: string, of: Of, colour: string, dash: string];

interface Measure {
  readonly label: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly ticks?: (most: number, count: number) => readonly number[];
  /** Of lines that count something: they are drawn by the second. */
  readonly isRate?: true;
}

const MEASURES: readonly Measure[] = [
  {
    label: "Throughput",
    lines: [
      ["tuples in", (period) => period.tuples_in, ACCENT, ""],
      ["results", (period) => period.results, GOOD, "5 3"],
    ],
    format: rate,
    isRate: true,
  },
  {
    label: "Latency",
    lines: [
      ["p50", (period) => period.latency_ms_p50, ACCENT, ""],
      ["p99", (period) => period.latency_ms_p99, WARN, "5 3"],
    ],
    format: milliseconds,
    ticks: spanTicks,
  },
  { label: "Backlog", lines: [["tuples", (period) => period.backlog, ACCENT, ""]], format: count },
  { label: "State", lines: [["in all stores", (period) => period.state_bytes, ACCENT, ""]], format: bytes },
  { label: "Cores", lines: [["in use", (period) => period.cores, ACCENT, ""]], format: coresText },
  {
    label: "Dead letters",
    lines: [
      ["late", (period) => period.late, WARN, "5 3"],
      ["unreadable", (period) => period.undecodable, BAD, "1.5 3"],
    ],
    format: rate,
    isRate: true,
  },
];

/**
 * How much of a period's count came in a second. Null for a period that is not over: its rate is not known yet.
 */
export function perSecond(of: Of, { resolution, to }: TopologyHistory): Of {
  const end = Date.parse(to);
  return (period) => {
    const value = of(period);
    const isOver = Date.parse(period.start) + resolution * 1000 <= end;
    return value === null || !isOver ? null : value / resolution;
  };
}

export interface Plotted {
  readonly label: string;
  readonly data: SeriesPlotData;
}

/** A chart for each measure, all over the same time and with the same switches. */
export function plotsOf(history: TopologyHistory, span: Span): Plotted[] {
  const places = placesOf(history, span);
  const times = places.map(({ at }) => at);
  const rules = history.switches.map(({ at, plan_id, cause }) => ({
    at: new Date(at),
    label: "switch",
    title: `Plan switch at ${clock(at)} UTC: plan ${plan_id}\n${cause}`,
  }));
  return MEASURES.map(({ label, lines, format, ticks, isRate }) => {
    const series = lines.map(([name, of, colour, dash]): Series => {
      const value = isRate ? perSecond(of, history) : of;
      return {
        name,
        colour,
        dash,
        values: places.map(({ period }) => (period === null ? null : value(period))),
      };
    });
    return {
      label,
      data: {
        times,
        series,
        format,
        ...(ticks === undefined ? {} : { ticks }),
        span: [new Date(span.from), new Date(span.to)],
        rules,
        title: `${label}: ${series.map((one) => extremes(one, format)).join("; ")}`,
      },
    };
  });
}

/** A line in words: `tuples in from 0/s to 12 k/s`. */
function extremes({ name, values }: Series, format: (value: number) => string): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name} not known`;
  return `${name} from ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
}
