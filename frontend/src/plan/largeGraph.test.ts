// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProbeForestData } from "../charts/graphs/forestData";
import { createProbeForest } from "../charts/graphs/probeForest";
import { streamColours } from "../colour/streams";
import { edgeRates } from "../live/recent";
import { historyPoint } from "../live/reduce";
import { largeBatch, largeGraph } from "./__fixtures__/largeGraph";
import { focusedKeys, forestOf, nodesOf, pruned } from "./forest";
import { layoutForest } from "./layout/forestLayout";
import { boxesOfQuery } from "./layout/physicalView";
import { shadingOf } from "./layout/shade";
import { parseGraph } from "./physicalGraph";

const graph = largeGraph(300, 200);

describe("a plan of 300 stores and 200 queries", () => {
  beforeEach(() => vi.stubGlobal("matchMedia", () => ({ matches: true })));
  afterEach(() => vi.unstubAllGlobals());

  it("is a plan, and the same one every time", () => {
    expect(parseGraph(structuredClone(graph))).toEqual(graph);
    expect(largeGraph(300, 200)).toEqual(graph);
    expect(graph.stores).toHaveLength(300);
    expect(graph.edges.length).toBeGreaterThan(1000);
  });

  it("shows of its physical graph just what a query needs", () => {
    const { boxes, lines } = boxesOfQuery(graph, "query7");
    expect(boxes.map((box) => box.label).sort()).toEqual([
      "in7",
      "in8",
      "in9",
      "query7",
      "stream7[k7]",
      "stream8[k8]",
      "stream9[k9]",
    ]);
    // Each stream fills its store and starts a probe order of two steps and a result.
    expect(lines).toHaveLength(3 * (1 + 2 + 1));
  });

  it("prunes its trees to a query's paths", () => {
    const forest = forestOf(graph);
    const trees = pruned(forest, focusedKeys(forest, { query: "query7", store: null }) ?? new Set());
    expect(trees.roots.map((root) => root.label)).toEqual(["in7", "in8", "in9"]);
    expect(nodesOf(trees)).toHaveLength(3 * 4);
    expect(pruned(forest, new Set()).roots).toEqual([]);
  });

  it("is drawn folded, one row per tree, and a batch changes it without drawing anything anew", {
    timeout: 60_000,
  }, () => {
    const forest = forestOf(graph);
    expect(nodesOf(forest)).toHaveLength(300 + 200 * 9);
    const folded = new Set(forest.roots.map((root) => root.key));
    const placed = layoutForest(forest, folded);
    expect(placed.nodes).toHaveLength(300);
    const host = document.createElement("div");
    const chart = createProbeForest(host);
    const data = (number: number): ProbeForestData => {
      const batches = [largeBatch(graph, number), largeBatch(graph, number + 1)];
      const rates = edgeRates(batches, batches.map(historyPoint));
      const { fractions } = shadingOf("load", forest, graph, batches[1] ?? null, (edge) => rates(edge).now);
      return {
        placed,
        kept: null,
        selected: null,
        added: new Set(),
        onHover: () => {},
        onSelect: () => {},
        onFold: () => {},
        colour: streamColours(graph.streams.map((stream) => stream.name)),
        text: ({ node }) => ({ detail: String(number), title: node.label }),
        flow: () => null,
        fill: (key) => (fractions.has(key) ? "red" : null),
      };
    };
    chart.update(data(1));
    const before = [...host.querySelectorAll("g.node")];
    const updates: number[] = [];
    for (let number = 2; number < 5; number += 1) {
      const next = data(number);
      const began = performance.now();
      chart.update(next);
      updates.push(performance.now() - began);
    }
    expect([...host.querySelectorAll("g.node")]).toEqual(before);
    expect(host.querySelector("g.node text.detail")?.textContent).toBe("4");
    // Measured, not asserted: the machine that tests may be busy.
    console.info(
      `an update of the folded trees of 300 stores: ${Math.max(...updates).toFixed(1)} ms at most`,
    );
  });
});
