/** Where a plan's time, memory and matches go: the worst of each kind in the newest batch. Pure. */
import type { BatchCompleted, StoreMetrics } from "../live/messages";
import type { GraphStore, PhysicalGraph } from "./physicalGraph";

/** Fullest task over the mean; null without tuples. 1 is even. */
export function skewOf(perTask: readonly number[]): number | null {
  const sum = perTask.reduce((total, tuples) => total + tuples, 0);
  return sum === 0 ? null : (Math.max(...perTask) * perTask.length) / sum;
}

export interface Worst {
  readonly store: GraphStore;
  readonly value: number;
  /** Its part of all stores' sum; null where a sum says nothing. */
  readonly share: number | null;
}

export interface Bottlenecks {
  /** Level 0 is the ingestion. `share` is its part of all levels. */
  readonly level: { readonly level: number; readonly seconds: number; readonly share: number } | null;
  readonly largest: Worst | null;
  readonly mostProbed: Worst | null;
  /** By matches per probe: where a join multiplies. */
  readonly mostMatches: Worst | null;
  readonly mostSkewed: Worst | null;
}

/** Fewer probes than this say nothing about how many matches one has. */
const LEAST_PROBES = 10;

/**
 * The slowest level; the store that is largest, most probed, matched most often per probe, and least even.
 *
 * Null where nothing is known or nothing stands out: no batch yet, no bytes, no probes, one task each.
 */
export function bottlenecks(graph: PhysicalGraph, batch: BatchCompleted | null): Bottlenecks {
  const worst = (measure: (metrics: StoreMetrics) => number | null, summed: boolean): Worst | null => {
    const known = graph.stores.flatMap((store): { store: GraphStore; value: number }[] => {
      const metrics = batch?.stores[store.id];
      const value = metrics === undefined ? null : measure(metrics);
      return value === null ? [] : [{ store, value }];
    });
    const sum = known.reduce((total, { value }) => total + value, 0);
    const first = known.reduce<{ store: GraphStore; value: number } | null>(
      (best, one) => (best === null || one.value > best.value ? one : best),
      null,
    );
    return first === null || first.value === 0
      ? null
      : { ...first, share: summed ? first.value / sum : null };
  };
  const levels = batch?.level_seconds ?? [];
  const total = levels.reduce((sum, seconds) => sum + seconds, 0);
  const slowest = levels.indexOf(Math.max(...levels));
  return {
    level:
      total > 0
        ? { level: slowest, seconds: levels[slowest] ?? 0, share: (levels[slowest] ?? 0) / total }
        : null,
    largest: worst((metrics) => metrics.bytes, true),
    mostProbed: worst((metrics) => metrics.probes, true),
    mostMatches: worst(
      (metrics) => (metrics.probes < LEAST_PROBES ? null : metrics.matches / metrics.probes),
      false,
    ),
    mostSkewed: worst((metrics) => (metrics.per_task.length < 2 ? null : skewOf(metrics.per_task)), false),
  };
}
