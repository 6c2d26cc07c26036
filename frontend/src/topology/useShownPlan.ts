import { useMemo, useState } from "preact/hooks";
import type { Alternative, PlanDocument } from "../api/documents";
import type { Live } from "../live/useFeed";
import { epochOf } from "../plan/epochs";
import { type PhysicalGraph, parseGraph } from "../plan/physicalGraph";
import { type PlanDiff, planDiff } from "../plan/planDiff";
import { useAddress } from "../ui/useAddress";
import { useAlternatives, usePastEpoch, usePlan } from "./usePlan";

/** The plan that the page shows: the running one, a past one, or another method's for the same queries. */
export interface ShownPlan {
  readonly runningId: string | null;
  readonly runningGraph: PhysicalGraph | null;
  /** The past plan that is looked at, null for the running one, and which of its epochs. */
  readonly past: string | null;
  readonly epoch: number | null;
  readonly epochProblem: string | null;
  readonly showPast: (planId: string | null, epoch?: number | null) => void;
  readonly plan: PlanDocument | null;
  readonly planGraph: PhysicalGraph | null;
  readonly problem: string | null;
  readonly missing: boolean;
  readonly alternatives: { readonly value: readonly Alternative[] | null; readonly problem: string | null };
  /** The other method whose plan is drawn in place of the plan's own; null for the plan. */
  readonly other: Alternative | null;
  readonly method: string | null;
  readonly showMethod: (method: string | null) => void;
  /** What is drawn, and how it differs from what runs; null if it is what runs. */
  readonly graph: PhysicalGraph | null;
  readonly diff: PlanDiff | null;
  /** The topology's state as far as it is the shown plan's. */
  readonly live: Live;
}

function useGraph(document: PlanDocument | Alternative | null): PhysicalGraph | null {
  return useMemo(() => (document === null ? null : parseGraph(document.graph)), [document]);
}

/**
 * @param runningId the plan that runs, if one does
 * @param comparing whether the page compares the plan with those of other methods
 */
export function useShownPlan(
  name: string,
  live: Live,
  runningId: string | null,
  comparing: boolean,
): ShownPlan {
  const { snapshot } = live;
  const [past, setPast] = useAddress("plan");
  const [askedEpoch, setEpoch] = useAddress("epoch");
  const [method, showMethod] = useState<string | null>(null);
  const running = usePlan(name, runningId);
  const looked = usePlan(name, past ?? runningId);
  const { plan, problem, missing } = past === null ? running : looked;
  const alternatives = useAlternatives(name, comparing || method !== null ? (plan?.plan_id ?? null) : null);
  const other = alternatives.value?.find((one) => one.method === method) ?? null;
  const runningGraph = useGraph(running.plan);
  const planGraph = useGraph(plan);
  const otherGraph = useGraph(other);
  const graph = otherGraph ?? planGraph;
  const isRunning = other === null && (past === null || past === runningId);
  const diff = useMemo(
    () => (isRunning || runningGraph === null || graph === null ? null : planDiff(runningGraph, graph)),
    [isRunning, runningGraph, graph],
  );
  const epoch = past === null ? null : epochOf(snapshot?.epochs ?? [], past, askedEpoch);
  const pastEpoch = usePastEpoch(name, epoch);
  // What a plan that does not run would measure is unknown, not what runs instead; its epochs keep what it
  // did.
  const statistics = other === null && pastEpoch.value?.plan_id === past ? pastEpoch.value : null;
  const isNow = past === null && other === null;
  const seen = useMemo(
    (): Live =>
      isNow || snapshot === null
        ? live
        : { ...live, recent: [], snapshot: { ...snapshot, batch: null, store_history: [], statistics } },
    [isNow, live, statistics],
  );
  return {
    runningId,
    runningGraph,
    past,
    epoch,
    epochProblem: pastEpoch.problem,
    showPast: (planId, asked = null) => {
      setPast(planId);
      setEpoch(asked === null ? null : String(asked));
    },
    plan,
    planGraph,
    problem,
    missing,
    alternatives,
    other,
    method,
    showMethod,
    graph,
    diff,
    live: seen,
  };
}
