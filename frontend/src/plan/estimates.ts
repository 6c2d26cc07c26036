import type { EpochCompleted } from "../live/messages";
import type { PhysicalGraph } from "./physicalGraph";

/** Tuples per second by edge and rule, as last estimated: before the newest epoch, or when the plan was made. */
export function estimatedRates(
  graph: PhysicalGraph,
  statistics: EpochCompleted | null,
): ReadonlyMap<string, number | null> {
  return new Map(
    graph.estimates.map(({ id, tuples_per_second }) => [
      id,
      statistics?.rates[id]?.estimated ?? tuples_per_second,
    ]),
  );
}

/** Tuples that a store was last estimated to hold. */
export function estimatedTuples(
  graph: PhysicalGraph,
  store: string,
  statistics: EpochCompleted | null,
): number | null | undefined {
  return statistics?.stores[store] ?? graph.estimates.find(({ id }) => id === store)?.tuples;
}
