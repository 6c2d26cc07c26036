/** A small line of the newest values; unknown values leave a gap. */
import { area, extent, line, scaleLinear, select } from "d3";
import type { Chart } from "./chart";

export interface SparklineData {
  readonly values: readonly (number | null)[];
  readonly colour: string;
  readonly title: string;
}

const WIDTH = 84;
const HEIGHT = 20;

export function createSparkline(element: HTMLElement): Chart<SparklineData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "sparkline")
    .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
    .attr("width", WIDTH)
    .attr("height", HEIGHT)
    .attr("role", "img");
  const title = svg.append("title");
  const fill = svg.append("path").attr("class", "fill");
  const stroke = svg.append("path").attr("class", "stroke").attr("fill", "none");
  const dot = svg.append("circle").attr("r", 1.8);

  return {
    update({ values, colour, title: text }) {
      title.text(text);
      svg.attr("aria-label", text);
      const [, most] = extent(values.filter((value) => value !== null));
      const x = scaleLinear([0, Math.max(1, values.length - 1)], [2, WIDTH - 3]);
      // The baseline is zero, so that heights compare; a flat zero lies on it.
      const y = scaleLinear([0, most === undefined || most === 0 ? 1 : most], [HEIGHT - 2, 2.5]);
      const known = (value: number | null): boolean => value !== null;
      stroke.attr("stroke", colour).attr(
        "d",
        line<number | null>()
          .defined(known)
          .x((_, i) => x(i))
          .y((value) => y(value ?? 0))([...values]) ?? "",
      );
      fill.attr("fill", colour).attr(
        "d",
        area<number | null>()
          .defined(known)
          .x((_, i) => x(i))
          .y0(HEIGHT - 1)
          .y1((value) => y(value ?? 0))([...values]) ?? "",
      );
      const last = values.at(-1);
      dot
        .attr("fill", colour)
        .attr("display", last === null || last === undefined ? "none" : null)
        .attr("cx", x(values.length - 1))
        .attr("cy", y(last ?? 0));
    },
    dispose() {
      svg.remove();
    },
  };
}
