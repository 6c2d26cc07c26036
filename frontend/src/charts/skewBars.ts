/** One bar per task of a store: how evenly its tuples are spread. */
import { max, select } from "d3";
import { count } from "../format/quantities";
import type { Chart } from "./chart";

export interface SkewData {
  readonly perTask: readonly number[];
  readonly colour: string;
}

const HEIGHT = 20;
const WIDTH = 72;

export function createSkewBars(element: HTMLElement): Chart<SkewData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "skew")
    .attr("width", WIDTH)
    .attr("height", HEIGHT)
    .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
    .attr("role", "img");
  return {
    update({ perTask, colour }) {
      const most = max(perTask) ?? 0;
      const step = Math.min(14, WIDTH / Math.max(1, perTask.length));
      svg.attr("aria-label", `tuples per task: ${perTask.map((tuples) => count(tuples)).join(", ")}`);
      svg
        .selectAll<SVGRectElement, number>("rect")
        .data(perTask)
        .join((enter) => {
          const bar = enter.append("rect");
          bar.append("title");
          return bar;
        })
        .attr("x", (_, i) => i * step)
        .attr("width", Math.max(1, step - 2))
        .attr("height", (tuples) => Math.max(1, most === 0 ? 1 : (tuples / most) * (HEIGHT - 2)))
        .attr("y", (tuples) => HEIGHT - Math.max(1, most === 0 ? 1 : (tuples / most) * (HEIGHT - 2)))
        .attr("fill", colour)
        .select("title")
        .text((tuples, i) => `task ${i}: ${count(tuples)} tuples`);
    },
    dispose() {
      svg.remove();
    },
  };
}
