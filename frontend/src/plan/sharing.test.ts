import { expect, it } from "vitest";
import document_ from "./__fixtures__/flights.graph.json";
import { parseGraph } from "./physicalGraph";
import { planSize, savedBySharing } from "./sharing";

const graph = parseGraph(document_);

it("counts stores, probes and levels of a plan", () => {
  const size = planSize(graph, 12);
  expect(size).toEqual({
    cost: 12,
    stores: document_.stores.length,
    steps: document_.rules.filter((rule) => rule.kind === "probe").length,
    depth: 2,
  });
  const empty = { ...graph, stores: [], rules: [], edges: [] };
  expect(planSize(empty, 0)).toEqual({ cost: 0, stores: 0, steps: 0, depth: 0 });
});

it("says which part sharing saves, and that it can lose", () => {
  const alone = planSize(graph, 16);
  expect(savedBySharing(planSize(graph, 12), alone)).toBe(0.25);
  expect(savedBySharing(planSize(graph, 20), alone)).toBe(-0.25);
  expect(savedBySharing(alone, planSize(graph, 0))).toBeNull();
});
