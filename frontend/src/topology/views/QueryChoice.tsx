import type { JSX } from "preact";
import type { PhysicalGraph } from "../../plan/physicalGraph";

interface Props {
  readonly graph: PhysicalGraph;
  readonly query: string | null;
  readonly onChoose: (query: string | null) => void;
}

/** Which query's part of the plan is drawn. */
export function QueryChoice({ graph, query, onChoose }: Props): JSX.Element {
  return (
    <select
      aria-label="Show only one query's paths"
      value={query ?? ""}
      onChange={(event) => onChoose(event.currentTarget.value === "" ? null : event.currentTarget.value)}
    >
      <option value="">all {graph.queries.length} queries</option>
      {graph.queries.map((entry) => (
        <option key={entry.name} value={entry.name}>
          {entry.name}
        </option>
      ))}
    </select>
  );
}
