import type { ComponentChildren, JSX } from "preact";
import type { Costs, PlanDocument, TopologyDocument } from "../api/documents";
import type { StreamColour } from "../colour/streams";
import { BatchTimeline } from "../jobs/BatchTimeline";
import { RunLogTail } from "../jobs/RunLogTail";
import type { Snapshot } from "../live/messages";
import type { EpochRow } from "../plan/epochs";
import type { PhysicalGraph } from "../plan/physicalGraph";
import { Tabs } from "../ui/Tabs";
import { ScrollText } from "../ui/table/ScrollText";
import { HistoryTab } from "./history/HistoryTab";
import { lastBatch } from "./lookBack";
import { BottleneckLine } from "./tables/BottleneckLine";
import { EpochErrors } from "./tables/EpochErrors";
import { EpochTable } from "./tables/EpochTable";
import { ForecastTable } from "./tables/ForecastTable";
import { PlanReceipt } from "./tables/PlanReceipt";
import { type ListedQuery, QueryTable } from "./tables/QueryTable";
import { ResultsTail } from "./tables/ResultsTail";
import { ShapeTable } from "./tables/ShapeTable";
import { StepTable } from "./tables/StepTable";
import { StoreTable } from "./tables/StoreTable";
import { StreamTable } from "./tables/StreamTable";
import type { ShownPlan } from "./useShownPlan";

interface Props {
  readonly name: string;
  readonly topology: TopologyDocument | null;
  readonly shown: ShownPlan;
  /** What the parts of the plan cost; null until it is known. */
  readonly costs: Costs | null;
  readonly epochs: readonly EpochRow[];
  readonly colour: StreamColour;
}

interface Page extends Props {
  /** Of the moment that the page shows. */
  readonly snapshot: Snapshot | null;
  /** The last batch of then; null for now. */
  readonly until: number | null;
  readonly plan: PlanDocument;
  readonly planGraph: PhysicalGraph;
  readonly graph: PhysicalGraph;
  readonly queries: readonly ListedQuery[];
}

/** The tabs in their order, each with what it shows. */
const TABS = {
  Stores: ({ graph, shown, colour }) => (
    <>
      <BottleneckLine graph={graph} batch={shown.live.snapshot?.batch ?? null} />
      <StoreTable graph={graph} live={shown.live} colour={colour} />
    </>
  ),
  Steps: ({ graph, shown, costs }) => <StepTable graph={graph} live={shown.live} costs={costs} />,
  Streams: ({ graph, shown, colour }) => <StreamTable graph={graph} live={shown.live} colour={colour} />,
  Queries: ({ name, graph, shown, costs, queries, colour }) => (
    <QueryTable
      graph={graph}
      queries={queries}
      batch={shown.live.snapshot?.batch ?? null}
      costs={costs}
      measuredOf={shown.other === null && shown.past === null ? name : null}
      colour={colour}
    />
  ),
  Results: (page) => <Results {...page} />,
  Batches: ({ snapshot, topology }) => (
    <BatchTimeline history={snapshot?.history ?? []} triggerMs={topology?.trigger_ms ?? null} />
  ),
  History: ({ name, shown, snapshot }) => (
    <HistoryTab name={name} until={shown.past === null ? null : (snapshot?.heartbeat_at ?? null)} />
  ),
  Epochs: ({ name, epochs, shown, snapshot }) => (
    <>
      <EpochTable
        name={name}
        rows={epochs}
        running={shown.runningId}
        past={shown.past}
        onChoose={(planId) => shown.showPast(planId)}
      />
      <ShapeTable shapes={snapshot?.shapes ?? []} />
      <h3>Estimates beside what happened</h3>
      <EpochErrors epochs={snapshot?.epochs ?? []} graph={shown.runningGraph} />
    </>
  ),
  Receipt: ({ plan, planGraph, shown }) => (
    <PlanReceipt
      plan={plan}
      graph={planGraph}
      alternatives={shown.alternatives.value}
      problem={shown.alternatives.problem}
      shown={shown.method}
      onShow={shown.showMethod}
    />
  ),
  Forecasts: ({ name, shown }) => (
    <>
      <OfNow shown={shown} />
      <ForecastTable name={name} />
    </>
  ),
  Plan: ({ plan }) => <ScrollText text={plan.text} />,
  Log: ({ topology, shown }) =>
    topology?.run === null || topology === null ? (
      <p class="empty">It has never run.</p>
    ) : (
      <>
        <OfNow shown={shown} />
        <RunLogTail key={topology.run.id} id={topology.run.id} />
      </>
    ),
} as const satisfies Readonly<Record<string, (page: Page) => ComponentChildren>>;

export type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];

export function tabOf(name: string | null): Tab {
  return NAMES.find((candidate) => candidate === name) ?? "Stores";
}

/** The newest results, or those of then, once it is known which these were. */
function Results({ shown, queries, until }: Pick<Page, "shown" | "queries" | "until">): JSX.Element {
  return shown.past !== null && until === null ? (
    <p class="empty">Which results there were then is not known.</p>
  ) : (
    <ResultsTail queries={queries} until={until} />
  );
}

/** Said of what tells its own times, and goes on, while the page shows a past moment. */
function OfNow({ shown }: { readonly shown: ShownPlan }): JSX.Element | null {
  return shown.past === null ? null : <p class="muted">This goes on: it is of now.</p>;
}

/** Everything that is known of a topology, by subject. */
export function DetailTabs({
  tab,
  onTab,
  ...props
}: Props & { readonly tab: Tab; readonly onTab: (tab: Tab) => void }): JSX.Element | null {
  const { plan, planGraph, graph } = props.shown;
  if (plan === null || planGraph === null || graph === null) return null;
  const { snapshot } = props.shown.moment;
  const deployed: readonly ListedQuery[] = props.topology?.queries ?? snapshot?.queries ?? [];
  const isPast = props.shown.past !== null;
  // Of a query of then it is known who it is; which version it had, and what checks of it say, is of now.
  const queries = isPast
    ? deployed
        .filter(({ name }) => planGraph.queries.some((row) => row.name === name))
        .map(({ id, name }) => ({ id, name }))
    : deployed;
  const until = isPast && snapshot !== null ? lastBatch(snapshot) : null;
  return (
    <>
      <Tabs label="Details" prefix="tab" names={NAMES} tab={tab} onTab={onTab}>
        {TABS[tab]({ ...props, plan, planGraph, graph, queries, snapshot, until })}
      </Tabs>
      {tab === "Stores" && <Results shown={props.shown} queries={queries} until={until} />}
    </>
  );
}
