import type { JSX } from "preact";
import type { PlanDiff } from "../../plan/planDiff";

/** What the shown plan adds to the running one, lacks, and shares. */
export function DiffSummary({ diff, against }: { diff: PlanDiff; against: string }): JSX.Element {
  return (
    <dl class="plan-diff">
      <dt class="plus">
        + {diff.added.length} not in {against}
      </dt>
      <Parts parts={diff.added} />
      <dt class="minus">
        − {diff.removed.length} only in {against}
      </dt>
      <Parts parts={diff.removed} />
      <dt>= {diff.kept.length} in both</dt>
    </dl>
  );
}

/** Their names, which scroll where they are many. */
function Parts({ parts }: { parts: PlanDiff["added"] }): JSX.Element {
  const names = parts.map((part) => (part.kind === "step" ? part.label : `${part.kind} ${part.label}`));
  // biome-ignore lint/a11y/noNoninteractiveTabindex: axe's scrollable-region-focusable
  return <dd tabIndex={0}>{names.join(", ") || "–"}</dd>;
}
