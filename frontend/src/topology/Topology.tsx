import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { readTopology } from "../api/endpoints";
import { ChartHost } from "../charts/ChartHost";
import { createEpochStrip } from "../charts/epochStrip";
import type { StreamColour } from "../colour/streams";
import { BatchTimeline } from "../jobs/BatchTimeline";
import { RunLogTail } from "../jobs/RunLogTail";
import { TopologyActions } from "../jobs/TopologyActions";
import type { EpochPoint } from "../live/messages";
import { type Live, useFeed } from "../live/useFeed";
import { epochOf, epochRows } from "../plan/epochs";
import { parseGraph } from "../plan/physicalGraph";
import { planDiff } from "../plan/planDiff";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollText } from "../ui/table/ScrollText";
import { useAddress } from "../ui/useAddress";
import { useLoaded } from "../ui/useLoaded";
import { DiffSummary } from "./header/DiffSummary";
import { EpochScrubber } from "./header/EpochScrubber";
import { FailedBatchLine } from "./header/FailedBatchLine";
import { HeaderNumbers } from "./header/HeaderNumbers";
import { BottleneckLine } from "./tables/BottleneckLine";
import { EpochErrors } from "./tables/EpochErrors";
import { EpochTable } from "./tables/EpochTable";
import { ForecastTable } from "./tables/ForecastTable";
import { PlanReceipt } from "./tables/PlanReceipt";
import { QueryTable } from "./tables/QueryTable";
import { ResultsTail } from "./tables/ResultsTail";
import { StepTable } from "./tables/StepTable";
import { StoreTable } from "./tables/StoreTable";
import { StreamTable } from "./tables/StreamTable";
import { useAlternatives, usePastEpoch, usePlan } from "./usePlan";
import { PhysicalView } from "./views/PhysicalView";
import { ProbeTrees } from "./views/ProbeTrees";
import { SideBySide } from "./views/SideBySide";

interface Props {
  readonly name: string;
  readonly colour: StreamColour;
  readonly operator: boolean;
}

const TABS = [
  "Stores",
  "Steps",
  "Streams",
  "Queries",
  "Results",
  "Batches",
  "Epochs",
  "Receipt",
  "Forecasts",
  "Plan",
  "Log",
] as const;
const REFRESH_MS = 5000;

export function Topology({ name, colour, operator }: Props): JSX.Element {
  const live = useFeed(name);
  const topology = useLoaded(() => readTopology(name), REFRESH_MS, name);
  const { snapshot } = live;
  const [chosenTab, setTab] = useAddress("tab");
  const tab = TABS.find((candidate) => candidate === chosenTab) ?? "Stores";
  const [past, setPlan] = useAddress("plan");
  const [askedEpoch, setEpoch] = useAddress("epoch");
  const setPast = (planId: string | null, epoch: number | null = null): void => {
    setPlan(planId);
    setEpoch(epoch === null ? null : String(epoch));
  };
  const [view, setView] = useAddress("view");
  const [method, setMethod] = useState<string | null>(null);
  const runningId = snapshot?.plan_id ?? topology.value?.plan_id ?? null;
  const running = usePlan(name, runningId);
  const looked = usePlan(name, past ?? runningId);
  const { plan, problem, missing } = past === null ? running : looked;
  const alternatives = useAlternatives(
    name,
    tab === "Receipt" || view === "beside" || method !== null ? (plan?.plan_id ?? null) : null,
  );
  const runningGraph = useMemo(
    () => (running.plan === null ? null : parseGraph(running.plan.graph)),
    [running.plan],
  );
  const planGraph = useMemo(() => (plan === null ? null : parseGraph(plan.graph)), [plan]);
  const other = alternatives.value?.find((one) => one.method === method) ?? null;
  const graph = useMemo(() => (other === null ? planGraph : parseGraph(other.graph)), [planGraph, other]);
  const isRunning = past === null && other === null;
  const epochNumber = past === null ? null : epochOf(snapshot?.epochs ?? [], past, askedEpoch);
  const pastEpoch = usePastEpoch(name, epochNumber);
  const diff = useMemo(
    () =>
      isRunning || (other === null && past === runningId) || runningGraph === null || graph === null
        ? null
        : planDiff(runningGraph, graph),
    [isRunning, other, past, runningId, runningGraph, graph],
  );
  const added = useMemo(() => new Set((diff?.added ?? []).map((part) => part.id)), [diff]);
  // What a plan that does not run would measure is unknown, not what runs instead; what it did is known by epoch.
  const statistics = other === null && pastEpoch.value?.plan_id === past ? pastEpoch.value : null;
  const seen = useMemo(
    (): Live =>
      isRunning || snapshot === null
        ? live
        : { ...live, recent: [], snapshot: { ...snapshot, batch: null, store_history: [], statistics } },
    [isRunning, live, statistics],
  );
  const strip = useMemo(
    () => ({
      history: snapshot?.history ?? [],
      switches: snapshot?.switches ?? [],
      epochs: snapshot?.epochs ?? [],
      past,
      onChoose: (id: string) => setPast(id === runningId || id === past ? null : id),
    }),
    [snapshot?.history, snapshot?.switches, snapshot?.epochs, past, runningId],
  );
  const run = topology.value?.run ?? null;
  const epochs = useMemo(
    () =>
      epochRows(
        snapshot?.switches ?? [],
        snapshot?.history ?? [],
        run?.plan_id === null || run?.plan_id === undefined
          ? null
          : { planId: run.plan_id, at: run.created_at },
      ),
    [snapshot?.switches, snapshot?.history, run?.id],
  );
  const epoch = epochs.find((row) => row.planId === past);
  // A switch changes the queries, which no event carries.
  useEffect(() => topology.reload(), [snapshot?.plan_id, snapshot?.state]);
  // Nothing is shown before what stands above it: it would move away from under the pointer.
  const isLaidOut = graph !== null || missing || problem !== null;
  const queries = topology.value?.queries ?? snapshot?.queries ?? [];
  const failed = snapshot?.error ?? topology.value?.error ?? null;
  return (
    <section class="topology">
      <HeaderNumbers
        live={live}
        topology={topology.value}
        actions={
          topology.value === null ? null : (
            <TopologyActions topology={topology.value} operator={operator} onDone={topology.reload} />
          )
        }
      />
      <ProblemLine text={topology.problem} />
      {failed !== null && snapshot?.state === "failed" && (
        <p class="problem-line" role="alert">
          ✕ {failed} <a href="/jobs/">See its log</a>
        </p>
      )}
      {topology.value?.queries
        .filter((query) => query.suspended !== null)
        .map((query) => (
          <p key={query.id} class="problem-line" role="alert">
            ⏸ {query.name} is not answered: {query.suspended}. Deploy it again once that is mended.
          </p>
        ))}
      {snapshot?.failed_batch !== null && snapshot?.failed_batch !== undefined && (
        <FailedBatchLine failed={snapshot.failed_batch} />
      )}
      {topology.value?.deployment.error !== null && topology.value?.deployment.error !== undefined && (
        <p class="problem-line" role="alert">
          ✕ {topology.value.deployment.error}
        </p>
      )}
      <ProblemLine text={problem} />
      {missing && graph === null && (
        <p class="empty">
          Nothing is planned here yet. <a href="/queries/">Open a query</a> and deploy it: its probe tree
          appears here.
        </p>
      )}
      {past !== null && (
        <p class="notice past" role="status">
          <strong>{past === runningId ? "The running plan, earlier" : `Past plan ${past}`}</strong>
          {epoch === undefined ? "" : `: from batch ${epoch.batch} on, epoch ${epoch.epoch}, ${epoch.cause}`}.{" "}
          {past === runningId ? "" : "It is not what runs now. "}
          {epochNumber === null
            ? "What it did is not known: no epoch of it is kept. "
            : (pastEpoch.problem ?? `Rates and tuples held are those of epoch ${epochNumber}. `)}
          <button type="button" class="button small" onClick={() => setPast(null)}>
            Back to now
          </button>
        </p>
      )}
      {other !== null && (
        <p class="notice past" role="status">
          <strong>What if: {other.method}</strong>. These trees do not run.{" "}
          <button type="button" class="button small" onClick={() => setMethod(null)}>
            Back to the plan
          </button>
        </p>
      )}
      {diff !== null && <DiffSummary diff={diff} against="the running plan" />}
      {graph !== null && plan !== null && (
        <fieldset class="group views" aria-label="View">
          <button
            type="button"
            class="tag"
            aria-pressed={view !== "graph" && view !== "beside"}
            onClick={() => setView(null)}
          >
            Probe trees
          </button>
          <button type="button" class="tag" aria-pressed={view === "graph"} onClick={() => setView("graph")}>
            Physical graph
          </button>
          <button
            type="button"
            class="tag"
            aria-pressed={view === "beside"}
            onClick={() => setView("beside")}
          >
            Together and alone
          </button>
        </fieldset>
      )}
      {graph !== null &&
        planGraph !== null &&
        plan !== null &&
        (view === "beside" ? (
          <SideBySide
            plan={plan}
            graph={planGraph}
            individual={alternatives.value?.find((one) => one.method === "individual") ?? null}
            problem={alternatives.problem}
            colour={colour}
          />
        ) : view === "graph" ? (
          <PhysicalView graph={graph} live={seen} colour={colour} />
        ) : (
          <ProbeTrees
            graph={graph}
            live={seen}
            colour={colour}
            name={`${name}-${other?.method ?? plan.plan_id}`}
            added={added}
          />
        ))}
      {isLaidOut && strip.history.length > 0 && (
        <ChartHost
          create={createEpochStrip}
          data={strip}
          class="epoch-host"
          label="Batches and plan switches"
        />
      )}
      <EpochScrubber
        epochs={isLaidOut ? (snapshot?.epochs ?? []) : []}
        epoch={epochNumber}
        onChoose={(point: EpochPoint | null) => setPast(point?.plan_id ?? null, point?.epoch ?? null)}
      />
      {graph !== null && plan !== null && (
        <>
          <div class="tabs" role="tablist" aria-label="Details">
            {TABS.map((candidate) => (
              <button
                key={candidate}
                type="button"
                role="tab"
                id={`tab-${candidate}`}
                aria-selected={candidate === tab}
                aria-controls="tab-panel"
                onClick={() => setTab(candidate)}
              >
                {candidate}
              </button>
            ))}
          </div>
          <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === "Stores" && (
              <>
                <BottleneckLine graph={graph} batch={seen.snapshot?.batch ?? null} />
                <StoreTable graph={graph} live={seen} colour={colour} />
              </>
            )}
            {tab === "Steps" && <StepTable graph={graph} live={seen} />}
            {tab === "Streams" && <StreamTable graph={graph} live={seen} colour={colour} />}
            {tab === "Queries" && (
              <QueryTable
                graph={graph}
                queries={queries}
                batch={seen.snapshot?.batch ?? null}
                colour={colour}
              />
            )}
            {tab === "Results" && <ResultsTail queries={queries} />}
            {tab === "Batches" && (
              <BatchTimeline
                history={snapshot?.history ?? []}
                triggerMs={topology.value?.trigger_ms ?? null}
              />
            )}
            {tab === "Log" &&
              (run === null ? (
                <p class="empty">It has never run.</p>
              ) : (
                <RunLogTail key={run.id} id={run.id} />
              ))}
            {tab === "Epochs" && (
              <>
                <EpochTable
                  rows={epochs}
                  running={runningId}
                  past={past}
                  onChoose={(planId) => setPast(planId)}
                />
                <h3>Estimates beside what happened</h3>
                <EpochErrors epochs={snapshot?.epochs ?? []} graph={runningGraph} />
              </>
            )}
            {tab === "Receipt" && planGraph !== null && (
              <PlanReceipt
                plan={plan}
                graph={planGraph}
                alternatives={alternatives.value}
                problem={alternatives.problem}
                shown={method}
                onShow={setMethod}
              />
            )}
            {tab === "Forecasts" && <ForecastTable name={name} />}
            {tab === "Plan" && <ScrollText text={plan.text} />}
          </div>
          {tab === "Stores" && <ResultsTail queries={queries} />}
        </>
      )}
    </section>
  );
}
