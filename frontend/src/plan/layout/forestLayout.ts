/**
 * Where the nodes of the probe trees stand. Pure: equal forests give equal places.
 *
 * Columns are levels, that is Spark stages; queries stand in one column behind the deepest. Every leaf
 * has a row of its own, so an edge that skips levels never crosses a node of its tree.
 */
import { cluster, hierarchy } from "d3";
import type { Forest, ForestNode } from "../forest";

const COLUMN_WIDTH = 220;
export const ROW_HEIGHT = 42;
export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 36;
const MARGIN = { top: 44, left: 16, right: 16, bottom: 20 };
const TREE_GAP = 0.35;

export interface PlacedNode {
  readonly key: string;
  readonly node: ForestNode;
  readonly x: number;
  readonly y: number;
  readonly parent: string | null;
  /** Nodes that are folded into this one. */
  readonly hidden: number;
}

export interface PlacedLink {
  /** The edge's plan id; for the last hop to a query the query node's key. */
  readonly key: string;
  readonly source: PlacedNode;
  readonly target: PlacedNode;
}

export interface PlacedForest {
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
  readonly columns: readonly { readonly x: number; readonly label: string }[];
  readonly width: number;
  readonly height: number;
}

function sizeOf(node: ForestNode): number {
  return node.children.reduce((sum, child) => sum + sizeOf(child), 1);
}

function columnLabel(level: number, depth: number): string {
  return level === 0 ? "sources" : level > depth ? "queries" : `level ${level}`;
}

/** @param folded keys of roots whose trees are drawn as one row */
export function layoutForest(forest: Forest, folded: ReadonlySet<string> = new Set()): PlacedForest {
  const nodes: PlacedNode[] = [];
  const links: PlacedLink[] = [];
  let top = 0;
  for (const root of forest.roots) {
    const tree = hierarchy<ForestNode>(root, (node) => (folded.has(node.key) ? [] : [...node.children]));
    // A fixed separation makes one row per leaf, whether or not two leaves share a parent.
    const placed = cluster<ForestNode>()
      .nodeSize([1, 1])
      .separation(() => 1)(tree);
    const rows = placed.descendants();
    const least = Math.min(...rows.map((row) => row.x));
    const most = Math.max(...rows.map((row) => row.x));
    const byKey = new Map<string, PlacedNode>();
    for (const row of rows) {
      const node: PlacedNode = {
        key: row.data.key,
        node: row.data,
        x: MARGIN.left + row.data.level * COLUMN_WIDTH,
        y: MARGIN.top + (top + row.x - least + 0.5) * ROW_HEIGHT,
        parent: row.parent?.data.key ?? null,
        hidden: folded.has(row.data.key) ? sizeOf(row.data) - 1 : 0,
      };
      byKey.set(node.key, node);
      nodes.push(node);
      const source = row.parent === null ? undefined : byKey.get(row.parent.data.key);
      if (source !== undefined) links.push({ key: row.data.edge?.id ?? row.data.key, source, target: node });
    }
    top += most - least + 1 + TREE_GAP;
  }
  const last = forest.depth + 1;
  return {
    nodes,
    links,
    columns: Array.from({ length: last + 1 }, (_, level) => ({
      x: MARGIN.left + level * COLUMN_WIDTH,
      label: columnLabel(level, forest.depth),
    })),
    width: MARGIN.left + last * COLUMN_WIDTH + NODE_WIDTH + MARGIN.right,
    height: MARGIN.top + Math.max(1, top) * ROW_HEIGHT + MARGIN.bottom,
  };
}
