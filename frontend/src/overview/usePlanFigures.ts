import { useEffect, useRef, useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, at, client, explainError } from "../api/request";
import { type PhysicalGraph, parseGraph } from "../plan/physicalGraph";
import { type Sharing, sharingOf } from "../plan/sharing";

interface PlanFigures {
  /** By plan, once it is loaded. */
  readonly plans: ReadonlyMap<string, Sharing>;
  readonly graphs: ReadonlyMap<string, PhysicalGraph>;
  /** Why a plan could not be loaded; it is asked for again. */
  readonly problem: string | null;
}

type Planned = Pick<TopologyDocument, "name" | "plan_id">;

/** What the plans of topologies share: each is loaded and read once, as a plan never changes. */
export function usePlanFigures(topologies: readonly Planned[]): PlanFigures {
  const [figures, setFigures] = useState<PlanFigures>({ plans: new Map(), graphs: new Map(), problem: null });
  const asked = useRef(new Set<string>());
  useEffect(() => {
    for (const { name, plan_id } of topologies) {
      if (plan_id === null || plan_id === undefined || asked.current.has(plan_id)) continue;
      asked.current.add(plan_id);
      answered(client.GET("/api/topologies/{name}/graph/", at({ name }, { plan_id }))).then(
        (plan) => {
          const graph = parseGraph(plan.graph);
          const sharing = sharingOf(graph, plan);
          setFigures(({ plans, graphs }) => ({
            plans: new Map(plans).set(plan_id, sharing),
            graphs: new Map(graphs).set(plan_id, graph),
            problem: null,
          }));
        },
        (error: unknown) => {
          asked.current.delete(plan_id);
          setFigures((before) => ({ ...before, problem: `The plan of ${name}: ${explainError(error)}` }));
        },
      );
    }
  }, [topologies]);
  return figures;
}
