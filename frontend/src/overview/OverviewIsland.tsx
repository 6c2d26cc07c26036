import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { answered, client } from "../api/request";
import type { IslandProps } from "../shell/islandProps";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { FirstQuery } from "./FirstQuery";
import { HealthLine } from "./HealthLine";
import { healthOf } from "./health";
import { NewestResults } from "./NewestResults";
import { PlanRivers } from "./PlanRivers";
import { TopologyTable } from "./TopologyTable";
import { usePlanFigures } from "./usePlanFigures";

const REFRESH_MS = 3000;
const NONE: readonly never[] = [];

/** Whether all is well, what every topology does and saves, and what the queries found last. */
export function OverviewIsland({ me }: IslandProps): JSX.Element {
  const { value, problem } = useLoaded(() => answered(client.GET("/api/overview/")), REFRESH_MS);
  const topologies = useMemo(() => value?.topologies.map(({ topology }) => topology) ?? NONE, [value]);
  const planned = usePlanFigures(topologies);
  const registered = useLoaded(() => answered(client.GET("/api/streams/")));
  const streams = useMemo(() => (registered.value ?? []).map(({ name }) => name), [registered.value]);
  const health = useMemo(() => (value === null ? null : healthOf(value)), [value]);
  const isEmpty = value !== null && topologies.length === 0;
  return (
    <section class="overview">
      {!isEmpty && <HealthLine health={health} problem={problem} at={value?.at ?? null} />}
      {isEmpty && <ProblemLine text={problem} />}
      {value !== null && me.role !== "viewer" && <FirstQuery own={value.own} />}
      {isEmpty && me.role === "viewer" && (
        <p class="empty">Nothing runs yet. Once an author deploys a query, it is told of here.</p>
      )}
      <ProblemLine text={planned.problem} />
      {!isEmpty && <TopologyTable overview={value} plans={planned.plans} />}
      <PlanRivers topologies={topologies} graphs={planned.graphs} streams={streams} />
      {value !== null && value.results.length > 0 && <NewestResults results={value.results} />}
    </section>
  );
}
