import type { JSX } from "preact";
import type { EpochRow } from "../../plan/epochs";
import { Button } from "../../ui/Button";
import type { ShownPlan } from "../useShownPlan";
import { DiffSummary } from "./DiffSummary";

interface Props {
  readonly shown: ShownPlan;
  readonly epochs: readonly EpochRow[];
}

/** Says so whenever the page shows something else than what runs now, and leads back. */
export function ShownPlanNotice({ shown, epochs }: Props): JSX.Element {
  const { past, other, diff } = shown;
  return (
    <>
      {past !== null && <PastPlan past={past} shown={shown} epochs={epochs} />}
      {other !== null && (
        <p class="notice past" role="status">
          <strong>What if: {other.method}</strong>. This plan is not running.{" "}
          <Button small onClick={() => shown.showMethod(null)}>
            Back to the plan
          </Button>
        </p>
      )}
      {diff !== null && <DiffSummary diff={diff} against="the running plan" />}
    </>
  );
}

function numbersText({ epoch, epochProblem, moment }: ShownPlan): string {
  if (epoch === null) return "No epoch of it is kept, so its rates are unknown.";
  if (epochProblem !== null) return epochProblem;
  const known = moment.snapshot?.statistics?.epoch ?? null;
  return known === null
    ? "Its numbers are on their way."
    : `All numbers are those of epoch ${known}, and stand still.`;
}

function PastPlan({ past, shown, epochs }: Props & { readonly past: string }): JSX.Element {
  const row = epochs.find((candidate) => candidate.planId === past);
  const runs = past === shown.runningId;
  return (
    <p class="notice past" role="status">
      <strong>{runs ? "The running plan, earlier" : `Past plan ${past}`}</strong>
      {row === undefined ? "" : `: from batch ${row.batch} on, epoch ${row.epoch}, ${row.cause}`}.{" "}
      {runs ? "" : "It is not running now. "}
      {numbersText(shown)}{" "}
      <Button small onClick={() => shown.showPast(null)}>
        Back to now
      </Button>
    </p>
  );
}
