import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PlanDocument } from "../api/documents";
import { readPlan, readTopology } from "../api/endpoints";
import { explainError, Refusal } from "../api/request";
import { ChartHost } from "../charts/ChartHost";
import { createEpochStrip } from "../charts/epochStrip";
import type { StreamColour } from "../colour/streams";
import { TopologyActions } from "../jobs/TopologyActions";
import { useFeed } from "../live/useFeed";
import { parseGraph } from "../plan/physicalGraph";
import { useLoaded } from "../ui/useLoaded";
import { HeaderNumbers } from "./HeaderNumbers";
import { ProbeTrees } from "./ProbeTrees";
import { QueryTable } from "./QueryTable";
import { ResultsTail } from "./ResultsTail";
import { StoreTable } from "./StoreTable";

interface Props {
  readonly name: string;
  readonly colour: StreamColour;
  readonly operator: boolean;
}

const TABS = ["Stores", "Queries", "Results", "Plan"] as const;
const REFRESH_MS = 5000;

/** The plan that the page draws: the running one, fetched again whenever its id changes. */
function usePlan(topology: string, planId: string | null): { plan: PlanDocument | null; problem: string | null; missing: boolean } {
  const [state, setState] = useState<{ plan: PlanDocument | null; problem: string | null; missing: boolean }>({ plan: null, problem: null, missing: false });
  useEffect(() => {
    const control = new AbortController();
    readPlan(topology, planId, control.signal).then(
      (plan) => setState({ plan, problem: null, missing: false }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        const missing = error instanceof Refusal && error.status === 404;
        setState((before) => ({ ...before, missing, problem: missing ? null : explainError(error) }));
      },
    );
    return () => control.abort();
  }, [topology, planId]);
  return state;
}

export function Topology({ name, colour, operator }: Props): JSX.Element {
  const live = useFeed(name);
  const topology = useLoaded(() => readTopology(name), REFRESH_MS, name);
  const { snapshot } = live;
  const [tab, setTab] = useState<(typeof TABS)[number]>("Stores");
  const { plan, problem, missing } = usePlan(name, snapshot?.plan_id ?? topology.value?.plan_id ?? null);
  const graph = useMemo(() => (plan === null ? null : parseGraph(plan.graph)), [plan]);
  const strip = useMemo(() => ({ history: snapshot?.history ?? [], switches: snapshot?.switches ?? [] }), [snapshot?.history, snapshot?.switches]);
  // A switch changes the queries, which no event carries.
  useEffect(() => topology.reload(), [snapshot?.plan_id, snapshot?.state]);
  const queries = topology.value?.queries ?? snapshot?.queries ?? [];
  const failed = snapshot?.error ?? topology.value?.error ?? null;
  return (
    <section class="topology">
      <HeaderNumbers live={live} topology={topology.value} actions={topology.value === null ? null : <TopologyActions topology={topology.value} operator={operator} onDone={topology.reload} />} />
      {topology.problem !== null && <p class="problem-line" role="alert">{topology.problem}</p>}
      {failed !== null && snapshot?.state === "failed" && <p class="problem-line" role="alert">✕ {failed} <a href="/jobs/">See its log</a></p>}
      {topology.value?.deployment.error !== null && topology.value?.deployment.error !== undefined && <p class="problem-line" role="alert">✕ {topology.value.deployment.error}</p>}
      {problem !== null && <p class="problem-line" role="alert">{problem}</p>}
      {missing && graph === null && (
        <p class="empty">
          Nothing is planned here yet. <a href="/queries/">Open a query</a> and deploy it: its probe tree appears here.
        </p>
      )}
      {graph !== null && plan !== null && <ProbeTrees graph={graph} live={live} colour={colour} />}
      {strip.history.length > 0 && <ChartHost create={createEpochStrip} data={strip} class="epoch-host" label="Batches and plan switches" />}
      {graph !== null && plan !== null && (
        <>
          <div class="tabs" role="tablist" aria-label="Details">
            {TABS.map((candidate) => (
              <button key={candidate} type="button" role="tab" id={`tab-${candidate}`} aria-selected={candidate === tab} aria-controls="tab-panel" onClick={() => setTab(candidate)}>
                {candidate}
              </button>
            ))}
          </div>
          <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === "Stores" && <StoreTable graph={graph} live={live} colour={colour} />}
            {tab === "Queries" && <QueryTable graph={graph} queries={queries} batch={snapshot?.batch ?? null} colour={colour} />}
            {tab === "Results" && <ResultsTail queries={queries} />}
            {tab === "Plan" && <pre class="explain" tabIndex={0}>{plan.text}</pre>}
          </div>
          {tab === "Stores" && <ResultsTail queries={queries} />}
        </>
      )}
    </section>
  );
}
