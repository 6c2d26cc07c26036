/** What answering queries together saves over answering each alone. Pure. */
import type { PlanDocument } from "../api/documents";
import { forestOf, nodesOf } from "./forest";
import type { PhysicalGraph } from "./physicalGraph";

export interface PlanSize {
  /** In millionths of a core, or in probe tuples per second. */
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
export function savedBySharing(together: number, alone: number): number | null {
  return alone > 0 ? 1 - together / alone : null;
}

/** What a plan has in common for its queries. */
export interface Sharing {
  readonly stores: number;
  readonly steps: number;
  /** Steps that several queries need. */
  readonly sharedSteps: number;
  /** In the plan's unit, against each query alone; negative if together costs more. */
  readonly saved: number;
  readonly savedPart: number | null;
}

export function sharingOf(
  graph: PhysicalGraph,
  { cost, individual_cost }: Pick<PlanDocument, "cost" | "individual_cost">,
): Sharing {
  const probes = nodesOf(forestOf(graph)).filter((node) => node.kind === "probe");
  return {
    stores: graph.stores.length,
    steps: probes.length,
    sharedSteps: probes.filter((node) => node.queries.length > 1).length,
    saved: individual_cost - cost.total,
    savedPart: savedBySharing(cost.total, individual_cost),
  };
}
