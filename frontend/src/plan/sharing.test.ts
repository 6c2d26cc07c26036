import { expect, it } from "vitest";
import document_ from "./__fixtures__/flights.graph.json";
import { parseGraph } from "./physicalGraph";
import { planSize, savedBySharing, sharingOf } from "./sharing";

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
  expect(savedBySharing(12, 16)).toBe(0.25);
  expect(savedBySharing(20, 16)).toBe(-0.25);
  expect(savedBySharing(16, 0)).toBeNull();
});

it("counts the steps that several queries need", () => {
  const cost = { probe: 6, storage: 6, latency: 0, total: 12 };
  const sharing = sharingOf(graph, { cost, individual_cost: 16 });
  expect(sharing).toMatchObject({ stores: document_.stores.length, saved: 4, savedPart: 0.25 });
  expect(sharing.sharedSteps).toBeGreaterThan(0);
  expect(sharing.sharedSteps).toBeLessThan(sharing.steps);
});
