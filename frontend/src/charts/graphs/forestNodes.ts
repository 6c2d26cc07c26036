/** The nodes of the probe trees: their parts, what changes of them, and where an arrow key leads. */
import type { BaseType, Selection } from "d3";
import { NODE_HEIGHT, NODE_WIDTH, type PlacedNode } from "../../plan/layout/forestLayout";
import { writeText } from "../chart";
import type { ProbeForestData } from "./forestData";

type Nodes<Parent extends BaseType> = Selection<SVGGElement, PlacedNode, Parent, unknown>;

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function isOut(key: string, { kept }: ProbeForestData): boolean {
  return kept !== null && !kept.has(key);
}

/** Whether an arrow key at a tree's root folds the tree (left) or opens it (right). */
export function foldsTree({ parent, hidden }: PlacedNode, direction: string): boolean {
  if (direction === "ArrowLeft") return parent === null && hidden === 0;
  return direction === "ArrowRight" && hidden > 0;
}

/** The node that an arrow key leads to. */
export function neighbourOf(all: readonly PlacedNode[], key: string, direction: string): string | null {
  const here = all.find((node) => node.key === key);
  if (here === undefined) return null;
  if (direction === "ArrowLeft") return here.parent;
  if (direction === "ArrowRight") return all.find((node) => node.parent === key)?.key ?? null;
  const column = all.filter((node) => node.x === here.x).sort((a, b) => a.y - b.y);
  const place = column.indexOf(here) + (direction === "ArrowDown" ? 1 : -1);
  return column[place]?.key ?? null;
}

/** Everything that a drawn node shows: it is written again only when this changes. */
export function lookOf(node: PlacedNode, data: ProbeForestData): string {
  return JSON.stringify([
    data.text(node),
    node.node.kind,
    node.node.label,
    node.node.stream,
    node.hidden,
    node.node.level,
    data.fill(node.key),
    isOut(node.key, data),
    node.key === data.selected,
    data.added.has(node.key),
    node.node.stream === null ? null : data.colour(node.node.stream),
  ]);
}

/** The parts of new nodes, still without words and colours. */
export function appendParts(group: Nodes<SVGGElement>, onFold: (key: string) => void): void {
  group.append("title");
  group
    .append("rect")
    .attr("class", "box")
    .attr("width", NODE_WIDTH)
    .attr("height", NODE_HEIGHT)
    .attr("y", -NODE_HEIGHT / 2)
    .attr("rx", 5);
  group
    .append("rect")
    .attr("class", "stripe")
    .attr("width", 5)
    .attr("height", NODE_HEIGHT)
    .attr("y", -NODE_HEIGHT / 2)
    .attr("rx", 2);
  group.append("text").attr("class", "label").attr("aria-hidden", "true").attr("x", 13).attr("y", -2);
  group.append("text").attr("class", "detail").attr("aria-hidden", "true").attr("x", 13).attr("y", 12);
  group
    .filter((node) => node.parent === null)
    .append("text")
    .attr("class", "fold")
    .attr("aria-hidden", "true")
    .attr("x", NODE_WIDTH - 10)
    .attr("y", 4)
    .attr("text-anchor", "middle")
    .on("click", (event: MouseEvent, node) => {
      event.stopPropagation();
      onFold(node.key);
    });
}

/** Words, classes and colours of nodes. */
export function writeParts(changed: Nodes<SVGGElement>, data: ProbeForestData): void {
  changed
    .attr("class", (node) => `node ${node.node.kind}`)
    .attr("aria-level", (node) => node.node.level + 1)
    .attr("aria-expanded", (node) =>
      node.parent !== null || node.node.children.length === 0 ? null : String(node.hidden === 0),
    )
    .classed("dimmed", (node) => isOut(node.key, data))
    .classed("selected", (node) => node.key === data.selected)
    .classed("added", (node) => data.added.has(node.key));
  changed.select<SVGRectElement>("rect.box").style("fill", (node) => data.fill(node.key));
  writeText(changed.select("title"), (node) => data.text(node).title);
  changed
    .select("rect.stripe")
    .attr("fill", (node) =>
      node.node.stream === null ? "var(--line-strong)" : data.colour(node.node.stream),
    );
  writeText(changed.select("text.label"), (node) =>
    clip(node.hidden > 0 ? `${node.node.label} +${node.hidden}` : node.node.label, 21),
  );
  writeText(changed.select("text.detail"), (node) => clip(data.text(node).detail, 28));
  writeText(changed.select("text.fold"), (node) =>
    node.node.children.length === 0 ? "" : node.hidden > 0 ? "▸" : "▾",
  );
}
