/** Where a river's nodes and links are drawn. Pure; d3-sankey finds the places. */
import { sankey, sankeyJustify, sankeyLinkHorizontal } from "d3-sankey";
import type { River, RiverLink, RiverNode } from "./river";

export interface PlacedNode {
  readonly node: RiverNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** From the left, beginning with 0. */
  readonly column: number;
  readonly value: number;
}

export interface PlacedLink {
  readonly link: RiverLink;
  readonly path: string;
  readonly width: number;
}

export interface PlacedRiver {
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly labels: number;
}

export interface Room {
  readonly width: number;
  /** At least what the fullest column needs for its labels is taken. */
  readonly height: number;
  /** Pixels between the nodes of a column, for their labels. */
  readonly gap: number;
  /** Pixels to the right of the queries, for their labels; 0 draws these over the river. */
  readonly labels: number;
}

const NODE_WIDTH = 10;
const MARGIN = 8;
const ITERATIONS = 24;
/** The least part of the river's whole width that a link has: what flows rarely is drawn, too. */
const LEAST_PART = 0.002;

interface Extra {
  readonly key: string;
  readonly node: RiverNode;
}
interface ExtraLink {
  readonly link: RiverLink;
}

export function layoutRiver(river: River, room: Room): PlacedRiver {
  const linked = new Set(river.links.flatMap(({ source, target }) => [source, target]));
  const nodes = river.nodes.filter(({ key }) => linked.has(key));
  const whole = river.links.reduce((sum, { value }) => sum + value, 0) || 1;
  if (nodes.length === 0)
    return { nodes: [], links: [], width: room.width, height: 0, columns: 0, labels: 0 };
  const height = Math.max(room.height, (fullestColumn(river.links) + 1) * room.gap * 1.6 + 2 * MARGIN);
  const placed = sankey<Extra, ExtraLink>()
    .nodeId(({ key }) => key)
    .nodeAlign(sankeyJustify)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(room.gap)
    .iterations(ITERATIONS)
    .extent([
      [MARGIN, MARGIN],
      [room.width - MARGIN - room.labels, height - MARGIN],
    ])({
    nodes: nodes.map((node): Extra => ({ key: node.key, node })),
    links: river.links.map((link) => ({
      link,
      source: link.source,
      target: link.target,
      value: link.value + whole * LEAST_PART,
    })),
  });
  const columns = [...new Set(placed.nodes.map(({ x0 = 0 }) => x0))].sort((a, b) => a - b);
  const path = sankeyLinkHorizontal<Extra, ExtraLink>();
  return {
    width: room.width,
    height,
    columns: columns.length,
    labels: room.labels,
    nodes: placed.nodes.map(({ node, x0 = 0, x1 = 0, y0 = 0, y1 = 0, value = 0 }) => ({
      node,
      x: x0,
      y: y0,
      width: x1 - x0,
      height: y1 - y0,
      column: columns.indexOf(x0),
      value,
    })),
    links: placed.links.map((one) => ({ link: one.link, path: path(one) ?? "", width: one.width ?? 0 })),
  };
}

/** Nodes of the column that has most of them: it follows from the links alone, before any height. */
function fullestColumn(links: readonly Pick<RiverLink, "source" | "target">[]): number {
  const incoming = new Map<string, string[]>();
  const leads = new Set<string>();
  for (const { source, target } of links) {
    incoming.set(target, [...(incoming.get(target) ?? []), source]);
    leads.add(source);
  }
  const depths = new Map<string, number>();
  const depthOf = (key: string): number => {
    const known = depths.get(key);
    if (known !== undefined) return known;
    depths.set(key, 0);
    const depth = Math.max(-1, ...(incoming.get(key) ?? []).map(depthOf)) + 1;
    depths.set(key, depth);
    return depth;
  };
  const columns = new Map<number, number>();
  for (const key of new Set(links.flatMap(({ source, target }) => [source, target]))) {
    const column = leads.has(key) ? depthOf(key) : -1;
    columns.set(column, (columns.get(column) ?? 0) + 1);
  }
  return Math.max(0, ...columns.values());
}
