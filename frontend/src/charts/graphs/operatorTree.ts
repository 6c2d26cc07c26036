/** Draws a plan of operators; joins that belong to one multi-way join light up together. */
import { select } from "d3";
import { type PlacedOperator, type PlacedPlan, wholeText } from "../../conversion/planTree";
import type { Chart } from "../chart";

export interface OperatorTreeData {
  readonly placed: PlacedPlan;
  readonly label: string;
  /** The multi-way join that is pointed at; null for none. */
  readonly marked: string | null;
  readonly onHover: (join: string | null) => void;
}

const DOT = 4.5;

function linkPath({ source, target }: PlacedPlan["links"][number]): string {
  return `M${source.x},${source.y + DOT}V${target.y}H${target.x - DOT}`;
}

export function createOperatorTree(element: HTMLElement): Chart<OperatorTreeData> {
  const svg = select(element).append("svg").attr("class", "operators").attr("role", "tree");
  const links = svg.append("g").attr("class", "operator-links").attr("aria-hidden", "true");
  const rows = svg.append("g");

  return {
    update({ placed, label, marked, onHover }) {
      svg
        .attr("aria-label", label)
        .attr("width", placed.width)
        .attr("height", placed.height)
        .attr("viewBox", `0 0 ${placed.width} ${placed.height}`);
      links
        .selectAll<SVGPathElement, PlacedPlan["links"][number]>("path")
        .data(placed.links, (link) => link.target.operator.id)
        .join("path")
        .attr("d", linkPath);
      const nodes = rows
        .selectAll<SVGGElement, PlacedOperator>("g.operator")
        .data(placed.rows, (row) => row.operator.id)
        .join((enter) => {
          const node = enter.append("g").attr("role", "treeitem");
          // Its title names it: the text beside it may be cut off.
          node.append("title");
          node.append("circle").attr("r", DOT);
          const text = node.append("text").attr("dy", "0.35em").attr("x", 10).attr("aria-hidden", "true");
          text.append("tspan").attr("class", "label");
          text.append("tspan").attr("class", "detail").attr("dx", 8);
          return node;
        })
        .attr(
          "class",
          ({ operator }) => `operator ${operator.kind}${operator.join === null ? "" : " joined"}`,
        )
        .classed("marked", ({ operator }) => operator.join !== null && operator.join === marked)
        .attr("aria-level", (row) => row.depth + 1)
        .attr("transform", (row) => `translate(${row.x},${row.y})`)
        .on("pointerenter", (_, row) => onHover(row.operator.join))
        .on("pointerleave", () => onHover(null));
      nodes.select("title").text((row) => wholeText(row.operator));
      nodes.select(".label").text((row) => row.operator.title);
      nodes.select(".detail").text((row) => row.detail);
    },
    dispose() {
      svg.remove();
    },
  };
}
