// @vitest-environment jsdom
import { expect, it } from "vitest";
import documents from "../../__fixtures__/documents.json";
import type { TopologyDocument } from "../../api/documents";
import { deploymentOf } from "./deployment";

const base = documents.topologies[0] as TopologyDocument;
const topology = (
  changes: Partial<TopologyDocument>,
  deployment: Partial<TopologyDocument["deployment"]> = {},
): TopologyDocument => ({
  ...base,
  ...changes,
  deployment: { ...base.deployment, ...deployment },
});

it("is active once the revision, or a newer one, runs", () => {
  expect(deploymentOf(topology({}, { active_revision: 12 }), 12).kind).toBe("active");
  expect(deploymentOf(topology({}, { active_revision: 13 }), 12).kind).toBe("active");
});

it("says what it waits for", () => {
  expect(deploymentOf(topology({}, { active_revision: 11, state: "planning" }), 12)).toMatchObject({
    kind: "waiting",
    text: "planning with all other queries",
  });
  expect(
    deploymentOf(
      topology({ state: "stopped", desired: "stopped" }, { active_revision: 11, state: "planned" }),
      12,
    ),
  ).toMatchObject({ kind: "waiting", text: "the topology is stopped; start it to run the query" });
});

it("gives the reason of a failure", () => {
  expect(
    deploymentOf(topology({}, { active_revision: 11, state: "failed", error: "no plan" }), 12),
  ).toMatchObject({ kind: "failed", reason: "no plan" });
  expect(
    deploymentOf(topology({ state: "failed", error: "boom" }, { active_revision: 11, state: "planned" }), 12),
  ).toMatchObject({ kind: "failed", reason: "boom" });
});
