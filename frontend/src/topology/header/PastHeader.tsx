import type { JSX } from "preact";
import type { TopologyDocument } from "../../api/documents";
import { instant, plural } from "../../format/quantities";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { ProblemLine } from "../../ui/ProblemLine";
import type { ShownPlan } from "../useShownPlan";
import { Numbers } from "./HeaderNumbers";

interface Props {
  readonly shown: ShownPlan;
  readonly topology: TopologyDocument | null;
}

/** What a plan answers, without the results that only it reads itself. */
function sizeText({ queries, streams }: PhysicalGraph): string {
  const inner = new Set(streams.flatMap(({ name, derived }) => (derived === null ? [] : [name])));
  const answered = queries.filter(({ name }) => !inner.has(name));
  const outside = streams.length - inner.size;
  return `${plural(answered.length, "query", "queries")} · ${plural(outside, "stream", "streams")}`;
}

/** The numbers of a past epoch, in the place of those of now; nothing can be done about them. */
export function PastHeader({ shown, topology }: Props): JSX.Element {
  const { planGraph, moment } = shown;
  const statistics = moment.snapshot?.statistics ?? null;
  return (
    <>
      <div class="topology-head">
        <div class="toolbar">
          <span class="status">
            <span aria-hidden="true">↶</span>{" "}
            {statistics === null ? "an earlier plan" : `as of ${instant(statistics.at)} UTC`}
          </span>
          <span class="muted">
            {statistics === null ? "" : `behind epoch ${statistics.epoch} · `}
            {planGraph === null ? "" : sizeText(planGraph)}
          </span>
        </div>
        <Numbers snapshot={moment.snapshot} topology={topology} />
      </div>
      <ProblemLine text={shown.problem} />
    </>
  );
}
