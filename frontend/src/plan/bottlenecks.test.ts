import { describe, expect, it } from "vitest";
import { storeMetrics } from "../live/messages";
import { largeBatch, largeGraph } from "./__fixtures__/largeGraph";
import { bottlenecks, skewOf } from "./bottlenecks";

const graph = largeGraph(6, 4);
const batch = largeBatch(graph, 1);

describe("bottlenecks", () => {
  it("are unknown before the first batch", () => {
    expect(bottlenecks(graph, null)).toEqual({
      level: null,
      largest: null,
      mostProbed: null,
      mostMatches: null,
      mostSkewed: null,
    });
  });

  it("name the slowest level and the worst store of each kind", () => {
    const quiet = storeMetrics.parse({
      tuples: 4,
      bytes: 100,
      inserted: 0,
      evicted: 0,
      probes: 20,
      matches: 5,
      per_task: [1, 1, 1, 1],
    });
    const stores = {
      S0: quiet,
      S1: { ...quiet, bytes: 300 },
      S2: { ...quiet, probes: 60, matches: 6 },
      S3: { ...quiet, matches: 40 },
      S4: { ...quiet, per_task: [4, 0, 0, 0] },
      S5: { ...quiet, probes: 2, matches: 80 },
    };
    const found = bottlenecks(graph, { ...batch, level_seconds: [0.1, 0.3], stores });
    expect(found.level).toEqual({ level: 1, seconds: 0.3, share: 0.3 / 0.4 });
    expect(
      [found.largest, found.mostProbed, found.mostMatches, found.mostSkewed].map((one) => [
        one?.store.id,
        one?.value,
      ]),
    ).toEqual([
      ["S1", 300],
      ["S2", 60],
      ["S3", 2],
      ["S4", 4],
    ]);
    expect(found.largest?.share).toBeCloseTo(300 / 800);
  });

  it("do not name a store where nothing happened", () => {
    const still = storeMetrics.parse({
      tuples: 0,
      bytes: 0,
      inserted: 0,
      evicted: 0,
      probes: 0,
      matches: 0,
      per_task: [0, 0],
    });
    const found = bottlenecks(graph, { ...batch, level_seconds: [], stores: { S0: still } });
    expect(found).toEqual({
      level: null,
      largest: null,
      mostProbed: null,
      mostMatches: null,
      mostSkewed: null,
    });
  });
});

describe("skew", () => {
  it("knows even from skewed, and nothing of an empty store", () => {
    expect(skewOf([4, 4])).toBe(1);
    expect(skewOf([0, 8])).toBe(2);
    expect(skewOf([0, 0])).toBeNull();
  });
});
