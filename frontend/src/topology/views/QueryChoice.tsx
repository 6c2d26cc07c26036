import type { JSX } from "preact";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { Select } from "../../ui/fields";

interface Props {
  readonly graph: PhysicalGraph;
  readonly query: string | null;
  readonly onChoose: (query: string | null) => void;
}

/** Which query's part of the plan is drawn. */
export function QueryChoice({ graph, query, onChoose }: Props): JSX.Element {
  return (
    <Select
      aria-label="Show only one query's paths"
      value={query ?? ""}
      options={[["", `all ${graph.queries.length} queries`], ...graph.queries.map(({ name }) => name)]}
      onValue={(name) => onChoose(name === "" ? null : name)}
    />
  );
}
