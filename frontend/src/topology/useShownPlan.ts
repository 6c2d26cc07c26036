import { useMemo, useState } from "preact/hooks";
import type { Alternative, PlanDocument } from "../api/documents";
import type { Snapshot } from "../live/messages";
import type { Live } from "../live/useFeed";
import { epochOf } from "../plan/epochs";
import { type PhysicalGraph, parseGraph } from "../plan/physicalGraph";
import { type PlanDiff, planDiff } from "../plan/planDiff";
import { useAddress } from "../ui/useAddress";
import { unknownThen } from "./lookBack";
import { useAlternatives, usePastSnapshot, usePlan } from "./usePlan";
import { useStill } from "./useStill";

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
  /** What the topology does now, or did when the past epoch had ended: all numbers of the page are of then. */
  readonly moment: Live;
  /** The same as far as it is the shown plan's. */
  readonly live: Live;
  /** The state whose epochs can be chosen: while one is looked at, it stands still. */
  readonly around: Snapshot | null;
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
  const around = useStill(live.snapshot, past !== null);
  const epoch = past === null ? null : epochOf(around?.epochs ?? [], past, askedEpoch);
  const pastSnapshot = usePastSnapshot(name, epoch);
  const then = pastSnapshot.value?.plan_id === past ? pastSnapshot.value : null;
  const isPast = past !== null;
  const moment = useMemo(
    (): Live =>
      isPast && around !== null ? { ...live, recent: [], snapshot: then ?? unknownThen(around) } : live,
    // What comes meanwhile changes nothing of then.
    [isPast, isPast ? null : live, around, then],
  );
  // What a plan that does not run would measure is unknown, not what runs instead.
  const seen = useMemo(
    (): Live =>
      other === null || moment.snapshot === null
        ? moment
        : {
            ...moment,
            recent: [],
            snapshot: { ...moment.snapshot, batch: null, store_history: [], statistics: null },
          },
    [other === null, moment],
  );
  return {
    runningId,
    runningGraph,
    past,
    epoch,
    epochProblem: pastSnapshot.problem,
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
    moment,
    live: seen,
    around,
  };
}
