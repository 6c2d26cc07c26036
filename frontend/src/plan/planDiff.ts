/** Two plans compared by the digests of their parts: what one has, the other has, or both. Pure. */
import { forestOf, nodesOf } from "./forest";
import type { PhysicalGraph } from "./physicalGraph";

export interface Part {
  readonly id: string;
  readonly kind: "store" | "step" | "query";
  readonly label: string;
}

export interface PlanDiff {
  readonly added: readonly Part[];
  readonly removed: readonly Part[];
  readonly kept: readonly Part[];
}

/** Stores, steps (by the tree that they stand in) and queries; each once, in the order of the plan. */
export function partsOf(graph: PhysicalGraph): Part[] {
  const forest = forestOf(graph);
  const starts = new Map(
    forest.roots.flatMap((root) =>
      nodesOf({ roots: [root], depth: forest.depth }).map((node) => [node.key, root.label]),
    ),
  );
  const parts: Part[] = [
    ...graph.queries.map((query): Part => ({ id: query.name, kind: "query", label: query.name })),
    ...graph.stores.map((store): Part => ({ id: store.id, kind: "store", label: store.label })),
    ...nodesOf(forest)
      .filter((node) => node.kind === "probe" || node.kind === "feed")
      .map(
        (node): Part => ({
          id: node.key,
          kind: "step",
          label: `${starts.get(node.key) ?? "?"} → ${node.label}`,
        }),
      ),
  ];
  return [...new Map(parts.map((part) => [`${part.kind} ${part.id}`, part])).values()];
}

/** What going from `before` to `after` adds, removes and keeps. */
export function planDiff(before: PhysicalGraph, after: PhysicalGraph): PlanDiff {
  const [old, fresh] = [partsOf(before), partsOf(after)];
  const key = (part: Part): string => `${part.kind} ${part.id}`;
  const [had, has] = [new Set(old.map(key)), new Set(fresh.map(key))];
  return {
    added: fresh.filter((part) => !had.has(key(part))),
    removed: old.filter((part) => !has.has(key(part))),
    kept: fresh.filter((part) => had.has(key(part))),
  };
}
