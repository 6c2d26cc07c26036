import type { JSX } from "preact";
import type { TopologyDocument } from "../../api/documents";
import { instant, plural } from "../../format/quantities";
import { ProblemLine } from "../../ui/ProblemLine";
import type { ShownPlan } from "../useShownPlan";
import { Numbers } from "./HeaderNumbers";

interface Props {
  readonly shown: ShownPlan;
  readonly topology: TopologyDocument | null;
}

/** The numbers of a past epoch, in the place of those of now; nothing can be done about them. */
export function PastHeader({ shown, topology }: Props): JSX.Element {
  const { epoch, planGraph, moment, around } = shown;
  const ended = around?.epochs.find((point) => point.epoch === epoch)?.at ?? null;
  return (
    <>
      <div class="topology-head">
        <div class="toolbar">
          <span class="status">
            <span aria-hidden="true">↶</span>{" "}
            {ended === null ? "an earlier plan" : `as of ${instant(ended)} UTC`}
          </span>
          <span class="muted">
            {epoch === null ? "" : `behind epoch ${epoch} · `}
            {planGraph === null
              ? ""
              : `${plural(planGraph.queries.length, "query", "queries")} · ${plural(planGraph.streams.length, "stream", "streams")}`}
          </span>
        </div>
        <Numbers snapshot={moment.snapshot} topology={topology} />
      </div>
      <ProblemLine text={shown.problem} />
    </>
  );
}
