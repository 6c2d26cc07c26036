import type { JSX } from "preact";
import { count, plural, windowLength } from "../../format/quantities";
import type { BatchCompleted, EpochCompleted } from "../../live/messages";
import { estimatedTuples } from "../../plan/estimates";
import { expressionText } from "../../plan/expressionText";
import type { GraphStore, PhysicalGraph } from "../../plan/physicalGraph";
import { Row } from "./FactRow";

interface Props {
  readonly store: GraphStore;
  readonly graph: PhysicalGraph;
  readonly batch: BatchCompleted | null;
  /** Of the newest epoch, or of the one that is looked at. */
  readonly statistics: EpochCompleted | null;
}

function placement({ partitioning, tasks }: GraphStore): string {
  if (partitioning === null) return "at random";
  if (partitioning.kind === "slices") return `by time in ${plural(partitioning.count, "slice")}`;
  if (partitioning.kind === "grid")
    return `as a grid of ${tasks / partitioning.groups} by ${partitioning.groups}`;
  if (partitioning.kind === "grids")
    return `as grids of ${gridSizes(tasks)
      .map((size, i) => {
        const rows = partitioning.rows[i] ?? 1;
        return `${size / rows} by ${rows}`;
      })
      .join(", ")}`;
  return `by ${expressionText(partitioning)}`;
}

/** The powers of two that add up to a number of tasks, the largest first: one grid each. */
function gridSizes(tasks: number): number[] {
  const sizes: number[] = [];
  for (let size = 2 ** Math.floor(Math.log2(tasks)); size >= 1; size /= 2) if (tasks & size) sizes.push(size);
  return sizes;
}

/** Where a store lies, how long it keeps tuples, and how many it holds. */
export function StoreFacts({ store, graph, batch, statistics }: Props): JSX.Element {
  const metrics = batch?.stores[store.id];
  const held =
    batch === null && statistics !== null
      ? `${count(statistics.held[store.id])} tuples on average`
      : `${count(metrics?.tuples)} tuples`;
  const kept = store.retention_us
    .map((retention) => windowLength(retention === null ? null : retention / 1000))
    .join(", ");
  const placed = placement(store);
  return (
    <>
      <Row label="store">{`${store.label}: ${placed} over ${plural(store.tasks, "task")}, kept ${kept}`}</Row>
      <Row label="holds">{`${held}, estimated ${count(estimatedTuples(graph, store.id, statistics))}`}</Row>
    </>
  );
}
