/** Lines over time with axes; unknown values leave a gap. */
import { axisBottom, axisLeft, extent, line, max, scaleLinear, scaleUtc, select } from "d3";
import type { Chart } from "./chart";

export interface Series {
  readonly name: string;
  readonly colour: string;
  /** A pattern beside the colour, so that lines differ without it; "" is solid. */
  readonly dash: string;
  readonly values: readonly (number | null)[];
}

export interface SeriesPlotData {
  readonly times: readonly Date[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Where the values' axis has ticks, up to the most; absent: round decimal numbers. */
  readonly ticks?: (most: number, count: number) => readonly number[];
  /** What the picture shows, for those who do not see it. */
  readonly title: string;
}

const WIDTH = 460;
const HEIGHT = 130;
const TICKS = 3;
const MARGIN = { top: 8, right: 10, bottom: 20, left: 58 };

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
  const lines = svg.append("g");

  return {
    update({ times, series, format, ticks, title: text }) {
      title.text(text);
      svg.attr("aria-label", text);
      const [first, last] = extent(times);
      const x = scaleUtc([first ?? new Date(0), last ?? new Date(1)], [MARGIN.left, WIDTH - MARGIN.right]);
      const most = max(series.flatMap((one) => one.values.filter((value) => value !== null)));
      // The baseline is zero, so that heights compare; a flat zero lies on it.
      const y = scaleLinear(
        [0, most === undefined || most === 0 ? 1 : most],
        [HEIGHT - MARGIN.bottom, MARGIN.top],
      );
      across.call(axisBottom(x).ticks(5).tickSizeOuter(0));
      const values = axisLeft(y)
        .ticks(TICKS)
        .tickSizeOuter(0)
        .tickFormat((value) => format(value.valueOf()));
      up.call(ticks === undefined ? values : values.tickValues(ticks(y.domain()[1] ?? 0, TICKS)));
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
