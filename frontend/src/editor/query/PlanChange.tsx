import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Explanation } from "../../api/documents";
import { answered, client } from "../../api/request";
import { count } from "../../format/quantities";
import { parseGraph } from "../../plan/physicalGraph";
import { type Part, planDiff } from "../../plan/planDiff";
import { useLoaded } from "../../ui/useLoaded";

interface Props {
  readonly name: string;
  /** The texts of two versions. */
  readonly before: string;
  readonly after: string;
}

/** What a version changed in the plan that the query would get by itself. */
export function PlanChange({ name, before, after }: Props): JSX.Element {
  const { value, problem } = useLoaded(
    async () =>
      Promise.all([
        answered(client.POST("/api/sql/explain/", { body: { sql: before, name: name ?? "" } })),
        answered(client.POST("/api/sql/explain/", { body: { sql: after, name: name ?? "" } })),
      ]),
    null,
    `${before}\n${after}`,
  );
  if (problem !== null) return <p class="muted">Plans cannot be compared: {problem}</p>;
  if (value === null)
    return (
      <p class="muted" role="status">
        Planning both versions…
      </p>
    );
  return <Change old={value[0]} fresh={value[1]} />;
}

function Change({ old, fresh }: { old: Explanation; fresh: Explanation }): JSX.Element {
  const diff = useMemo(() => planDiff(parseGraph(old.graph), parseGraph(fresh.graph)), [old, fresh]);
  const [added, removed] = [diff.added, diff.removed].map((parts) =>
    parts.filter((part) => part.kind !== "query"),
  ) as [Part[], Part[]];
  return (
    <section aria-label="Change of the plan">
      <p>
        Plan: probe {count(old.cost.probe)} → <strong>{count(fresh.cost.probe)}</strong>, storage{" "}
        {count(old.cost.storage)} → <strong>{count(fresh.cost.storage)}</strong>
        {added.length + removed.length === 0 ? "; the same stores and steps." : ""}
      </p>
      {added.length + removed.length > 0 && (
        <ul class="plan-change">
          {removed.map((part) => (
            <li key={`- ${part.id}`} class="bad">
              − {part.kind} <span class="mono">{part.label}</span>
            </li>
          ))}
          {added.map((part) => (
            <li key={`+ ${part.id}`} class="good">
              + {part.kind} <span class="mono">{part.label}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
