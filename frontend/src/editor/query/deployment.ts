/** Deploying: ask for it, then watch the topology until the revision runs. */
import type { DeployAnswer, TopologyDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";

export type Deployment =
  | { readonly kind: "asked" }
  | { readonly kind: "waiting"; readonly topology: string; readonly text: string }
  | { readonly kind: "active"; readonly topology: string }
  | { readonly kind: "failed"; readonly topology: string | null; readonly reason: string };

const POLL_MS = 700;
const TEXTS: Readonly<Record<string, string>> = {
  none: "waiting for the planner",
  planning: "planning with all other queries",
  planned: "planned; waiting for the next batch",
  active: "waiting for the next batch",
};

/** What a topology says about a revision. */
export function deploymentOf(topology: TopologyDocument, revision: number): Deployment {
  const { deployment, name } = topology;
  if (deployment.active_revision >= revision) return { kind: "active", topology: name };
  if (deployment.state === "failed")
    return { kind: "failed", topology: name, reason: deployment.error ?? "the deployment failed" };
  if (topology.state === "failed")
    return { kind: "failed", topology: name, reason: topology.error ?? "the topology failed" };
  if (topology.state === "stopped" && topology.desired === "stopped") {
    return { kind: "waiting", topology: name, text: "the topology is stopped; start it to run the query" };
  }
  return { kind: "waiting", topology: name, text: TEXTS[deployment.state] ?? deployment.state };
}

/** Report progress until the end; resolves when it is active or failed, or when `signal` says so. */
export async function watchDeployment(
  answer: DeployAnswer,
  report: (deployment: Deployment) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const deployment = deploymentOf(
      await answered(client.GET("/api/topologies/{name}/", at({ name: answer.topology }))),
      answer.revision,
    );
    if (signal.aborted) return;
    report(deployment);
    if (deployment.kind !== "waiting") return;
    await new Promise((done) => setTimeout(done, POLL_MS));
    if (signal.aborted) return;
  }
}
