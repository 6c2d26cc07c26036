import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { StreamColour } from "../../colour/streams";
import type { ShownPlan } from "../useShownPlan";
import { PhysicalView } from "./PhysicalView";
import { ProbeTrees } from "./ProbeTrees";
import { RiverView } from "./RiverView";
import { SideBySide } from "./SideBySide";
import type { useCosts } from "./useCosts";

const VIEWS = {
  river: "River",
  trees: "Probe trees",
  graph: "Physical graph",
  beside: "Together and alone",
} as const;
export type View = keyof typeof VIEWS;

export function viewOf(name: string | null): View {
  if (name === "trees" || name === "graph" || name === "beside" || name === "river") return name;
  // A link to a step or a store means its place in the trees.
  return window.location.hash === "" ? "river" : "trees";
}

interface Props {
  readonly name: string;
  readonly shown: ShownPlan;
  readonly costs: ReturnType<typeof useCosts>;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly colour: StreamColour;
}

/** A plan in one of its views, and the choice among them. */
export function PlanViews({ name, shown, costs, view, onView, colour }: Props): JSX.Element | null {
  const { plan, planGraph, graph, other, alternatives } = shown;
  const added = useMemo(() => new Set((shown.diff?.added ?? []).map((part) => part.id)), [shown.diff]);
  if (plan === null || planGraph === null || graph === null) return null;
  return (
    <>
      <fieldset class="group views" aria-label="View">
        {(Object.keys(VIEWS) as View[]).map((candidate) => (
          <button
            key={candidate}
            type="button"
            class="tag"
            aria-pressed={candidate === view}
            onClick={() => onView(candidate)}
          >
            {VIEWS[candidate]}
          </button>
        ))}
      </fieldset>
      {view === "beside" && (
        <SideBySide
          plan={plan}
          graph={planGraph}
          individual={alternatives.value?.find((one) => one.method === "individual") ?? null}
          problem={alternatives.problem}
          colour={colour}
        />
      )}
      {view === "graph" && <PhysicalView graph={graph} live={shown.live} colour={colour} />}
      {view === "river" && (
        <RiverView
          graph={graph}
          live={shown.live}
          colour={colour}
          costs={other === null ? costs.value : null}
          problem={costs.problem}
        />
      )}
      {view === "trees" && (
        <ProbeTrees
          graph={graph}
          live={shown.live}
          colour={colour}
          name={`${name}-${other?.method ?? plan.plan_id}`}
          added={added}
        />
      )}
    </>
  );
}
