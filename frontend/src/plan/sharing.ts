/** What answering queries together saves over answering each alone. Pure. */
import type { PhysicalGraph } from "./physicalGraph";

export interface PlanSize {
  /** In probe tuples per second. */
  readonly cost: number;
  readonly stores: number;
  /** Probes of one tuple of every stream. */
  readonly steps: number;
  /** Levels, that is Spark stages. */
  readonly depth: number;
}

export function planSize(graph: PhysicalGraph, cost: number): PlanSize {
  return {
    cost,
    stores: graph.stores.length,
    steps: graph.rules.filter((rule) => rule.kind === "probe").length,
    depth: Math.max(0, ...graph.edges.map((edge) => edge.level)),
  };
}

/**
 * The part of the cost that is saved: 0.25 is a quarter; negative if together costs more; null if alone costs
 * nothing.
 */
export function savedBySharing(together: PlanSize, alone: PlanSize): number | null {
  return alone.cost > 0 ? 1 - together.cost / alone.cost : null;
}
