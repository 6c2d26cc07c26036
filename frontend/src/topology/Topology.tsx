import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { answered, at, client } from "../api/request";
import type { StreamColour } from "../colour/streams";
import { TopologyActions } from "../jobs/TopologyActions";
import { useFeed } from "../live/useFeed";
import { epochRows } from "../plan/epochs";
import { useAddress } from "../ui/useAddress";
import { useLoaded } from "../ui/useLoaded";
import { DetailTabs, type Tab, tabOf } from "./DetailTabs";
import { EpochStrip } from "./header/EpochStrip";
import { HeaderNumbers } from "./header/HeaderNumbers";
import { HeaderProblems } from "./header/HeaderProblems";
import { PastHeader } from "./header/PastHeader";
import { ShownPlanNotice } from "./header/ShownPlanNotice";
import { TopologyHealth } from "./header/TopologyHealth";
import { useShownPlan } from "./useShownPlan";
import { PlanViews, type View, viewOf } from "./views/PlanViews";
import { useCosts } from "./views/useCosts";

interface Props {
  readonly name: string;
  readonly colour: StreamColour;
  readonly operator: boolean;
}

const REFRESH_MS = 5000;

function showsCosts(view: View, tab: Tab): boolean {
  return view === "river" || tab === "Queries" || tab === "Steps";
}

/** A link within the page to a step or a store shows it where it is drawn: in the trees. */
function useTreesOnHash(view: string, setView: (view: string) => void): void {
  useEffect(() => {
    const onHash = (): void => {
      if (window.location.hash !== "" && view === "river") setView("trees");
    };
    window.addEventListener("hashchange", onHash);
    return () => window.removeEventListener("hashchange", onHash);
  }, [view]);
}

/** One topology: whether all is well, its plan, when that changed, and tables of everything known. */
export function Topology({ name, colour, operator }: Props): JSX.Element {
  const live = useFeed(name);
  const topology = useLoaded(
    () => answered(client.GET("/api/topologies/{name}/", at({ name }))),
    REFRESH_MS,
    name,
  );
  const [askedTab, setTab] = useAddress("tab");
  const [askedView, setView] = useAddress("view");
  const [ask, setAsk] = useAddress("ask");
  const [question] = useState(ask);
  // It is asked once: whoever reloads the page or passes its address on does not mean it.
  useEffect(() => setAsk(null), []);
  const [tab, view] = [tabOf(askedTab), viewOf(askedView)];
  const runningId = live.snapshot?.plan_id ?? topology.value?.plan_id ?? null;
  const shown = useShownPlan(name, live, runningId, tab === "Receipt" || view === "beside");
  // Worked out for each plan that somebody wants them of.
  const costs = useCosts(name, showsCosts(view, tab) ? shown.plan : null);
  const run = topology.value?.run ?? null;
  const isPast = shown.past !== null;
  const { snapshot } = shown.moment;
  const epochs = useMemo(() => {
    const planId = run?.plan_id ?? null;
    // A past moment may be another launch's.
    const isOwn = run !== null && (!isPast || run.id === snapshot?.run);
    const launch = isOwn && planId !== null ? { planId, at: run.created_at } : null;
    return epochRows(snapshot?.switches ?? [], snapshot?.history ?? [], launch);
  }, [snapshot?.switches, snapshot?.history, snapshot?.run, run?.id, isPast]);
  // A switch changes the queries, which no event carries.
  useEffect(() => topology.reload(), [live.snapshot?.plan_id, live.snapshot?.state]);
  useTreesOnHash(view, setView);
  const isUnplanned = shown.missing && shown.graph === null;
  // Nothing is shown before what stands above it: it would move away from under the pointer.
  const isHeaderKnown =
    (topology.value !== null || topology.problem !== null) &&
    (live.snapshot !== null || live.connection.kind !== "connecting");
  const isLaidOut = shown.graph !== null || shown.missing || shown.problem !== null;
  return (
    <section class="topology">
      {isPast ? (
        <PastHeader shown={shown} topology={topology.value} />
      ) : (
        <>
          <HeaderNumbers
            live={live}
            topology={topology.value}
            actions={
              topology.value !== null && (
                <TopologyActions
                  topology={topology.value}
                  operator={operator}
                  onDone={topology.reload}
                  ask={question}
                />
              )
            }
          />
          <TopologyHealth name={name} />
          <HeaderProblems
            topology={topology.value}
            snapshot={snapshot}
            loading={topology.problem}
            planning={shown.problem}
          />
        </>
      )}
      {isHeaderKnown && (
        <>
          {isUnplanned && (
            <p class="empty">
              Nothing is planned here yet. <a href="/queries/">Open a query</a> and deploy it: its probe tree
              appears here.
            </p>
          )}
          <ShownPlanNotice shown={shown} epochs={epochs} />
          <PlanViews name={name} shown={shown} costs={costs} view={view} onView={setView} colour={colour} />
          {isLaidOut && <EpochStrip shown={shown} />}
          <DetailTabs
            name={name}
            topology={topology.value}
            shown={shown}
            costs={shown.other === null ? costs.value : null}
            epochs={epochs}
            colour={colour}
            tab={tab}
            onTab={setTab}
          />
        </>
      )}
    </section>
  );
}
