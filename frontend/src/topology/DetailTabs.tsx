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
import { BottleneckLine } from "./tables/BottleneckLine";
import { EpochErrors } from "./tables/EpochErrors";
import { EpochTable } from "./tables/EpochTable";
import { ForecastTable } from "./tables/ForecastTable";
import { PlanReceipt } from "./tables/PlanReceipt";
import { QueryTable } from "./tables/QueryTable";
import { ResultsTail } from "./tables/ResultsTail";
import { ShapeTable } from "./tables/ShapeTable";
import { StepTable } from "./tables/StepTable";
import { StoreTable } from "./tables/StoreTable";
import { StreamTable } from "./tables/StreamTable";
import type { ShownPlan } from "./useShownPlan";

interface Props {
  readonly name: string;
  readonly topology: TopologyDocument | null;
  readonly snapshot: Snapshot | null;
  readonly shown: ShownPlan;
  /** What the parts of the plan cost; null until it is known. */
  readonly costs: Costs | null;
  readonly epochs: readonly EpochRow[];
  readonly colour: StreamColour;
}

interface Page extends Props {
  readonly plan: PlanDocument;
  readonly planGraph: PhysicalGraph;
  readonly graph: PhysicalGraph;
  readonly queries: TopologyDocument["queries"] | Snapshot["queries"];
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
  Queries: ({ graph, shown, costs, queries, colour }) => (
    <QueryTable
      graph={graph}
      queries={queries}
      batch={shown.live.snapshot?.batch ?? null}
      costs={costs}
      colour={colour}
    />
  ),
  Results: ({ queries }) => <ResultsTail queries={queries} />,
  Batches: ({ snapshot, topology }) => (
    <BatchTimeline history={snapshot?.history ?? []} triggerMs={topology?.trigger_ms ?? null} />
  ),
  History: ({ name }) => <HistoryTab name={name} />,
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
  Forecasts: ({ name }) => <ForecastTable name={name} />,
  Plan: ({ plan }) => <ScrollText text={plan.text} />,
  Log: ({ topology }) =>
    topology?.run === null || topology === null ? (
      <p class="empty">It has never run.</p>
    ) : (
      <RunLogTail key={topology.run.id} id={topology.run.id} />
    ),
} as const satisfies Readonly<Record<string, (page: Page) => ComponentChildren>>;

export type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];

export function tabOf(name: string | null): Tab {
  return NAMES.find((candidate) => candidate === name) ?? "Stores";
}

/** Everything that is known of a topology, by subject. */
export function DetailTabs({
  tab,
  onTab,
  ...props
}: Props & { readonly tab: Tab; readonly onTab: (tab: Tab) => void }): JSX.Element | null {
  const { plan, planGraph, graph } = props.shown;
  if (plan === null || planGraph === null || graph === null) return null;
  const queries = props.topology?.queries ?? props.snapshot?.queries ?? [];
  return (
    <>
      <Tabs label="Details" prefix="tab" names={NAMES} tab={tab} onTab={onTab}>
        {TABS[tab]({ ...props, plan, planGraph, graph, queries })}
      </Tabs>
      {tab === "Stores" && <ResultsTail queries={queries} />}
    </>
  );
}
