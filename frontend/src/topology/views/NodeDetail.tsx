import type { ComponentChildren, JSX } from "preact";
import type { StreamColour } from "../../colour/streams";
import { count, rate, ratio, windowLength } from "../../format/quantities";
import type { BatchCompleted, EpochCompleted } from "../../live/messages";
import type { EdgeRate } from "../../live/recent";
import { expressionText } from "../../plan/expressionText";
import { conditionsOf, type ForestNode } from "../../plan/forest";
import type { PhysicalGraph, Store } from "../../plan/physicalGraph";

interface Props {
  readonly node: ForestNode | null;
  readonly store: Store | null;
  readonly graph: PhysicalGraph;
  readonly rates: (edge: string) => EdgeRate;
  readonly batch: BatchCompleted | null;
  /** Of the newest epoch, or of the one that is looked at. */
  readonly statistics: EpochCompleted | null;
  readonly colour: StreamColour;
}

const KINDS = {
  shuffle: "to any one task",
  group_by: "to the task of the key's hash",
  all: "to every task",
  slices: "to the tasks whose slices its windows touch",
  grid: "to one row of tasks",
} as const;

function Row({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Beside the trees: everything about the step under the pointer, the focus or the selection. */
export function NodeDetail({ node, store, graph, rates, batch, statistics, colour }: Props): JSX.Element {
  if (node === null && store === null) {
    return (
      <aside class="pane detail" aria-label="Details">
        <p class="muted">
          Point at a step, or move with Tab and the arrow keys, to see what it checks, its store, and the
          estimate beside what happens. A query shows just its paths.
        </p>
      </aside>
    );
  }
  return (
    <aside class="pane detail" aria-label="Details" aria-live="polite">
      {node !== null ? (
        <NodeFacts
          node={node}
          graph={graph}
          rates={rates}
          batch={batch}
          statistics={statistics}
          colour={colour}
        />
      ) : (
        store !== null && (
          <>
            <h3>{store.label}</h3>
            <dl>
              <StoreFacts store={store} graph={graph} batch={batch} statistics={statistics} />
            </dl>
          </>
        )
      )}
    </aside>
  );
}

function NodeFacts({
  node,
  graph,
  rates,
  batch,
  statistics,
  colour,
}: Omit<Props, "node" | "store"> & { node: ForestNode }): JSX.Element {
  const { rule, edge } = node;
  const estimate = graph.estimates.find((entry) => entry.id === edge?.id);
  const produced = graph.estimates.find((entry) => entry.id === node.key);
  const measured = edge === null ? null : rates(edge.id);
  const query = node.kind === "query" ? graph.queries.find((entry) => entry.name === node.label) : undefined;
  const metrics = query === undefined ? undefined : batch?.queries[query.name];
  return (
    <>
      <h3>
        {node.stream !== null && (
          <span class="dot" style={{ background: colour(node.stream) }} aria-hidden="true" />
        )}{" "}
        {node.label}
      </h3>
      <dl>
        <Row label="what">
          {
            {
              source: "new tuples start here",
              probe: "joined with the stored tuples",
              feed: "kept as an intermediate result",
              query: "results of a query",
            }[node.kind]
          }
        </Row>
        {rule?.kind === "source" && (
          <Row label="filter">
            {rule.filter === null ? "none" : <code>{expressionText(rule.filter)}</code>}
          </Row>
        )}
        {rule?.kind === "probe" && (
          <Row label="checks">
            {conditionsOf(rule).length === 0
              ? "windows only"
              : conditionsOf(rule).map((text) => (
                  <code key={text} class="line">
                    {text}
                  </code>
                ))}
          </Row>
        )}
        {rule?.kind === "probe" && (
          <Row label="windows">
            {rule.windows
              .map(
                (bound) =>
                  `${bound.input} ${windowLength(bound.window_us === null ? null : bound.window_us / 1000)}`,
              )
              .join(", ")}
          </Row>
        )}
        {node.emit !== null && (
          <Row label="checks last">
            {node.emit.residuals.length === 0
              ? "nothing more"
              : node.emit.residuals.map((residual) => (
                  <code key={expressionText(residual)} class="line">
                    {expressionText(residual)}
                  </code>
                ))}
          </Row>
        )}
        {edge !== null && (
          <Row label="sent">{`${KINDS[edge.kind]}${edge.key === null ? "" : `, key ${expressionText(edge.key)}`}; level ${edge.level}`}</Row>
        )}
        {edge !== null && <Row label="estimate">{`${rate(estimate?.tuples_per_second)} of event time`}</Row>}
        {edge !== null && (
          <Row label="actual">{`${rate(measured?.eventTime)} of event time (${ratio(measured?.eventTime, estimate?.tuples_per_second)}), ${rate(measured?.now)} now`}</Row>
        )}
        {produced !== undefined && (
          <Row label="gives">{`${rate(produced.tuples_per_second)} estimated, ${rate(statistics?.rates[node.key]?.actual)} in the epoch`}</Row>
        )}
        {node.kind === "source" && node.stream !== null && (
          <Row label="batch">{`${count(batch?.streams[node.stream]?.accepted)} accepted, ${count(batch?.streams[node.stream]?.late)} late, ${count(batch?.streams[node.stream]?.undecodable)} undecodable`}</Row>
        )}
        {node.keptIn.map((store) => (
          <StoreFacts key={store.id} store={store} graph={graph} batch={batch} statistics={statistics} />
        ))}
        {node.store !== null && (
          <StoreFacts store={node.store} graph={graph} batch={batch} statistics={statistics} />
        )}
        {metrics !== undefined && <Row label="batch">{`${count(metrics.results)} results`}</Row>}
        {query !== undefined && (
          <Row label="SQL">
            <code class="sql-text">{query.sql}</code>
          </Row>
        )}
        {node.kind !== "query" && (
          <Row label="serves">{node.queries.length === 0 ? "no query" : node.queries.join(", ")}</Row>
        )}
        <Row label="id">
          <code>{node.key}</code>
        </Row>
      </dl>
    </>
  );
}

function placement({ partitioning, tasks }: Store): string {
  if (partitioning === null) return "at random";
  if (partitioning.kind === "slices")
    return `by time in ${partitioning.count} ${partitioning.count === 1 ? "slice" : "slices"}`;
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

function StoreFacts({
  store,
  graph,
  batch,
  statistics,
}: Pick<Props, "graph" | "batch" | "statistics"> & { store: Store }): JSX.Element {
  const metrics = batch?.stores[store.id];
  const held =
    batch === null && statistics !== null
      ? `${count(statistics.held[store.id])} tuples on average`
      : `${count(metrics?.tuples)} tuples`;
  const estimate = graph.estimates.find((entry) => entry.id === store.id);
  const kept = store.retention_us
    .map((retention) => windowLength(retention === null ? null : retention / 1000))
    .join(", ");
  const placed = placement(store);
  return (
    <>
      <Row label="store">{`${store.label}: ${placed} over ${store.tasks} ${store.tasks === 1 ? "task" : "tasks"}, kept ${kept}`}</Row>
      <Row label="holds">{`${held}, estimated ${count(estimate?.tuples)}`}</Row>
    </>
  );
}
