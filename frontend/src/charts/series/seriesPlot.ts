/** Lines over time with axes; unknown values leave a gap. */
import {
  axisBottom,
  axisLeft,
  bisectCenter,
  extent,
  line,
  max,
  pointer,
  type Selection,
  scaleLinear,
  scaleUtc,
  select,
} from "d3";
import { instant } from "../../format/quantities";
import type { Chart } from "../chart";
import { timeTick } from "./timeTick";

export interface Series {
  readonly name: string;
  readonly colour: string;
  /** A pattern beside the colour, so that lines differ without it; "" is solid. */
  readonly dash: string;
  readonly values: readonly (number | null)[];
}

/** Something that happened at one moment. */
export interface Rule {
  readonly at: Date;
  readonly label: string;
  /** What the rule says to those who point at it. */
  readonly title: string;
}

export interface SeriesPlotData {
  readonly times: readonly Date[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Where the values' axis has ticks, up to the most; absent: round decimal numbers. */
  readonly ticks?: (most: number, count: number) => readonly number[];
  /** From where to where the axis of time goes; absent: from the first time to the last. */
  readonly span?: readonly [Date, Date];
  /** Vertical rules; absent: none. */
  readonly rules?: readonly Rule[];
  /** What the picture shows, for those who do not see it. */
  readonly title: string;
}

const WIDTH = 460;
const HEIGHT = 130;
const TICKS = 3;
const MARGIN = { top: 16, right: 10, bottom: 20, left: 58 };
/** Units of a label's letters, about: labels that would lie over one another are left out. */
const LETTER = 6.2;

export function createSeriesPlot(element: HTMLElement): Chart<SeriesPlotData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "series-plot")
    .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
    .attr("role", "img");
  const title = svg.append("title");
  const across = svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${HEIGHT - MARGIN.bottom})`);
  const up = svg.append("g").attr("class", "axis").attr("transform", `translate(${MARGIN.left},0)`);
  const marks = svg.append("g").attr("class", "rules");
  const lines = svg.append("g");
  const pointed = svg.append("g").attr("class", "pointed").attr("visibility", "hidden");
  pointed
    .append("line")
    .attr("y1", MARGIN.top)
    .attr("y2", HEIGHT - MARGIN.bottom);
  const told = pointed
    .append("text")
    .attr("x", WIDTH - MARGIN.right)
    .attr("y", 10);
  let pointAt: (across: number) => void = () => {};
  svg.on("pointermove", (event: PointerEvent) => pointAt(pointer(event)[0]));
  svg.on("pointerleave", () => pointed.attr("visibility", "hidden"));

  return {
    update({ times, series, format, ticks, span, rules = [], title: text }) {
      title.text(text);
      svg.attr("aria-label", text);
      const [first, last] = span ?? extent(times);
      const x = scaleUtc([first ?? new Date(0), last ?? new Date(1)], [MARGIN.left, WIDTH - MARGIN.right]);
      const most = max(series.flatMap((one) => one.values.filter((value) => value !== null)));
      // The baseline is zero, so that heights compare; a flat zero lies on it.
      const y = scaleLinear(
        [0, most === undefined || most === 0 ? 1 : most],
        [HEIGHT - MARGIN.bottom, MARGIN.top],
      );
      across.call(
        axisBottom(x)
          .ticks(5)
          .tickFormat((at) => timeTick(at as Date))
          .tickSizeOuter(0),
      );
      const values = axisLeft(y)
        .ticks(TICKS)
        .tickSizeOuter(0)
        .tickFormat((value) => format(value.valueOf()));
      up.call(ticks === undefined ? values : values.tickValues(ticks(y.domain()[1] ?? 0, TICKS)));
      drawRules(marks, rules, x);
      pointAt = (across) => {
        const found = bisectCenter(times, x.invert(across));
        const at = times[found];
        pointed.attr("visibility", at === undefined ? "hidden" : "visible");
        if (at === undefined) return;
        pointed.select("line").attr("transform", `translate(${x(at)},0)`);
        told.text(
          [instant(at.toISOString()), ...series.map((one) => valueText(one, found, format))].join(" · "),
        );
      };
      lines
        .selectAll<SVGPathElement, Series>("path")
        .data(series, (one) => one.name)
        .join("path")
        .attr("fill", "none")
        .attr("stroke", (one) => one.colour)
        .attr("stroke-dasharray", (one) => one.dash)
        .attr(
          "d",
          (one) =>
            line<number | null>()
              .defined((value) => value !== null)
              .x((_, i) => x(times[i] ?? 0))
              .y((value) => y(value ?? 0))([...one.values]) ?? "",
        );
    },
    dispose() {
      svg.remove();
    },
  };
}

function valueText({ name, values }: Series, index: number, format: (value: number) => string): string {
  const value = values[index] ?? null;
  return `${name} ${value === null ? "–" : format(value)}`;
}

interface Mark extends Rule {
  readonly left: number;
  /** Its label lies to the left of it, where there is no room to the right. */
  readonly isLast: boolean;
  readonly hasRoom: boolean;
}

function marksOf(rules: readonly Rule[], x: (at: Date) => number): Mark[] {
  const right = WIDTH - MARGIN.right;
  let taken = Number.NEGATIVE_INFINITY;
  return rules
    .map((rule) => ({ ...rule, left: x(rule.at) }))
    .filter(({ left }) => left >= MARGIN.left && left <= right)
    .map((rule) => {
      const width = rule.label.length * LETTER;
      const isLast = rule.left + width > right;
      const begin = isLast ? rule.left - width : rule.left;
      const hasRoom = begin > taken;
      if (hasRoom) taken = begin + width;
      return { ...rule, isLast, hasRoom };
    });
}

function drawRules(
  marks: Selection<SVGGElement, unknown, null, undefined>,
  rules: readonly Rule[],
  x: (at: Date) => number,
): void {
  const drawn = marks
    .selectAll<SVGGElement, Mark>("g")
    .data(marksOf(rules, x), (mark) => `${mark.at.getTime()} ${mark.label}`)
    .join((enter) => {
      const mark = enter.append("g");
      mark.append("title");
      mark
        .append("line")
        .attr("y1", MARGIN.top)
        .attr("y2", HEIGHT - MARGIN.bottom);
      mark.append("text").attr("y", MARGIN.top + 7);
      return mark;
    })
    .attr("transform", (mark) => `translate(${mark.left},0)`);
  drawn.select("title").text((mark) => mark.title);
  drawn
    .select("text")
    .attr("x", (mark) => (mark.isLast ? -3 : 3))
    .attr("text-anchor", (mark) => (mark.isLast ? "end" : "start"))
    .text((mark) => (mark.hasRoom ? mark.label : ""));
}
