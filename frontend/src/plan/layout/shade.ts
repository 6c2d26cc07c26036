/** How the nodes of the probe trees are shaded: one number per node, on a common scale. Pure. */
import type { BatchCompleted } from "../../live/messages";
import { skewOf } from "../bottlenecks";
import type { Forest, ForestNode } from "../forest";
import { nodesOf } from "../forest";
import type { PhysicalGraph } from "../physicalGraph";

export const SHADES = ["stream", "cost", "load", "skew", "query"] as const;
export type Shade = (typeof SHADES)[number];

/** Enough to tell apart, little enough for the text on it. */
const STRONGEST_PERCENT = 42;

export interface Shading {
  /** By node key: 0 (nothing) to 1 (the most of the plan); unknown nodes are missing. */
  readonly fractions: ReadonlyMap<string, number>;
  readonly most: number | null;
}

/**
 * @param shade `stream` shades nothing; `cost` is the optimizer's estimate of a step; `load` the tuples per
 *   second sent there now; `skew` how unevenly the probed store is spread; `query` how many share a step
 */
export function shadingOf(
  shade: Shade,
  forest: Forest,
  graph: PhysicalGraph,
  batch: BatchCompleted | null,
  load: (edge: string) => number | null,
): Shading {
  const costs = new Map(graph.estimates.map((estimate) => [estimate.id, estimate.cost]));
  const values: Readonly<Record<Shade, (node: ForestNode) => number | null>> = {
    stream: () => null,
    cost: ({ edge }) => (edge === null ? null : (costs.get(edge.id) ?? null)),
    load: ({ edge }) => (edge === null ? null : load(edge.id)),
    skew: ({ store }) => (store === null ? null : skewOf(batch?.stores[store.id]?.per_task ?? [])),
    query: ({ kind, queries }) => (kind === "query" ? null : queries.length),
  };
  const known = nodesOf(forest).flatMap((node): [string, number][] => {
    const found = values[shade](node);
    return found === null ? [] : [[node.key, found]];
  });
  // Even spreading is ×1, and one query is no sharing: both are the scale's lower end.
  const least = shade === "skew" || shade === "query" ? 1 : 0;
  const most = known.length === 0 ? null : Math.max(...known.map(([, number]) => number));
  const span = most === null ? 0 : most - least;
  return {
    fractions: new Map(
      known.map(([key, number]) => [key, span <= 0 ? 0 : Math.max(0, (number - least) / span)]),
    ),
    most,
  };
}

/** The colour of a fraction, in both themes; null (unknown) is the node's own. */
export function shadeColour(fraction: number | undefined): string | null {
  return fraction === undefined
    ? null
    : `color-mix(in srgb, var(--accent) ${Math.round(fraction * STRONGEST_PERCENT)}%, var(--raised))`;
}
