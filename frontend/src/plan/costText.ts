import type { Costs } from "../api/documents";
import { cores, rate, UNKNOWN } from "../format/quantities";

/** A part of a plan's cost, in the unit that the plan was chosen by; a dash until that is known. */
export function costText(costs: Pick<Costs, "unit"> | null, cost: number | null | undefined): string {
  if (costs === null) return UNKNOWN;
  return costs.unit === "cores" ? cores(cost) : rate(cost);
}
