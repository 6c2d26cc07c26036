import type { JSX } from "preact";
import type { PlanDiff } from "../../plan/planDiff";

/** What the shown plan adds to the running one, lacks, and shares. */
export function DiffSummary({ diff, against }: { diff: PlanDiff; against: string }): JSX.Element {
  const list = (parts: PlanDiff["added"]): string =>
    parts.map((part) => (part.kind === "step" ? part.label : `${part.kind} ${part.label}`)).join(", ");
  return (
    <dl class="plan-diff">
      <dt class="plus">
        + {diff.added.length} not in {against}
      </dt>
      <dd>{diff.added.length === 0 ? "–" : list(diff.added)}</dd>
      <dt class="minus">
        − {diff.removed.length} only in {against}
      </dt>
      <dd>{diff.removed.length === 0 ? "–" : list(diff.removed)}</dd>
      <dt>= {diff.kept.length} in both</dt>
    </dl>
  );
}
