import type { JSX } from "preact";
import type { Correctness, Costs } from "../../api/documents";
import type { StreamColour } from "../../colour/streams";
import { useMeasuredCosts } from "../../costs/useMeasuredCosts";
import { cores, count, milliseconds, UNKNOWN, windowLength } from "../../format/quantities";
import type { BatchCompleted } from "../../live/messages";
import { costText } from "../../plan/costText";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { lightOf } from "../../ui/correctness";
import { StreamChip } from "../../ui/StreamChip";
import { LongTable, type SortedColumn } from "../../ui/table/LongTable";
import { completeness } from "./completeness";

/** A query that is deployed; of a past moment only who it is. */
export interface ListedQuery {
  readonly id: number;
  readonly name: string;
  readonly version?: number;
  readonly correctness?: Correctness | null;
}

interface Props {
  readonly graph: PhysicalGraph;
  readonly queries: readonly ListedQuery[];
  readonly batch: BatchCompleted | null;
  /** By the plan's statistics. */
  readonly costs: Costs | null;
  /** The topology whose epoch measures what queries cost; null of a past moment, and of another plan. */
  readonly measuredOf: string | null;
  readonly colour: StreamColour;
}

type Row = PhysicalGraph["queries"][number];
type Metrics = BatchCompleted["queries"][string];

export function QueryTable({ graph, queries, batch, costs, measuredOf, colour }: Props): JSX.Element {
  const savedQueries = new Map(queries.map((query) => [query.name, query]));
  const measured = useMeasuredCosts(measuredOf);
  const coresOf = (row: Row): number | undefined =>
    measured.value?.get(savedQueries.get(row.name)?.id ?? Number.NaN);
  const metricsOf = (row: Row): Metrics | undefined => batch?.queries[row.name];
  const measuredColumn: SortedColumn<Row> = {
    label: "Cost",
    short: "cost",
    kind: "number",
    title:
      measured.problem ??
      "processor time as the newest epoch measured it: the query's own parts, and an even part of each that it shares with others",
    value: (row) => coresOf(row) ?? null,
    cell: (row) => {
      const used = coresOf(row);
      return used === undefined ? UNKNOWN : cores(used * 1e6);
    },
  };
  const columns: readonly SortedColumn<Row>[] = [
    {
      label: "Query",
      value: (row) => row.name,
      cell: ({ name }) => {
        const saved = savedQueries.get(name);
        return saved === undefined ? (
          name
        ) : (
          <>
            <a class="row-link" href={`/queries/${saved.id}/`}>
              {name}
            </a>{" "}
            {saved.version !== undefined && <span class="muted">v{saved.version}</span>}
          </>
        );
      },
    },
    {
      label: "Inputs",
      class: "chips",
      cell: ({ inputs }) => (
        <>
          {inputs.map((input) => (
            <StreamChip key={input.alias} stream={input.stream} colour={colour} />
          ))}{" "}
          <span class="muted">{windowsOf(inputs)}</span>
        </>
      ),
    },
    ...(measuredOf === null ? [] : [measuredColumn]),
    {
      label: "Planned cost",
      short: "planned cost",
      kind: "number",
      title:
        "by the plan's statistics: the query's own parts, and an even part of each that it shares with others",
      value: (row) => costs?.queries[row.name] ?? null,
      cell: (row) => costText(costs, costs?.queries[row.name]),
    },
    {
      label: "Results",
      kind: "number",
      title: "in the newest batch",
      value: (row) => metricsOf(row)?.results ?? null,
      cell: (row) => <Results metrics={metricsOf(row)} />,
    },
    {
      label: "p50",
      kind: "number",
      title: "from a tuple's arrival to the commit of its results, median of the last minute",
      value: (row) => metricsOf(row)?.latency_ms_p50 ?? null,
      cell: (row) => milliseconds(metricsOf(row)?.latency_ms_p50),
    },
    {
      label: "p99",
      kind: "number",
      title: "the same, 99th percentile",
      value: (row) => metricsOf(row)?.latency_ms_p99 ?? null,
      cell: (row) => milliseconds(metricsOf(row)?.latency_ms_p99),
    },
    {
      label: "Complete since",
      short: "complete since",
      value: (row) => metricsOf(row)?.complete_since ?? null,
      cellTitle: (row) => completeness(row.inputs, metricsOf(row)).advice,
      cell: (row) => {
        const { text, advice } = completeness(row.inputs, metricsOf(row));
        return (
          <>
            {text}
            {advice !== "" && <span class="visually-hidden">. {advice}</span>}
          </>
        );
      },
    },
    {
      label: "Checked",
      short: "checked",
      title: "against a batch join of the same tuples",
      cell: ({ name }) => {
        const correctness = savedQueries.get(name)?.correctness;
        return correctness === undefined ? UNKNOWN : <CorrectnessLight light={lightOf(correctness, null)} />;
      },
    },
  ];
  return (
    <LongTable
      caption="Queries"
      columns={columns}
      rows={graph.queries}
      rowKey={(row) => row.name}
      text={(row) => [row.name, ...row.inputs.map((input) => input.stream)].join("\n")}
    />
  );
}

/** One window for all inputs, or each different one. */
function windowsOf(inputs: Row["inputs"]): string {
  const lengths = inputs.map(({ window_us }) => windowLength(window_us === null ? null : window_us / 1000));
  return [...new Set(lengths)].join(", ");
}

function Results({ metrics }: { readonly metrics: Metrics | undefined }): JSX.Element {
  return (
    <>
      {count(metrics?.results)}
      {(metrics?.failed_calls ?? 0) > 0 && (
        <div
          class="muted small"
          title={
            "Rows of the newest batch for which a function or an expression raised. They count as " +
            "NULL, so results may be missing; the dead letters show some."
          }
        >
          {count(metrics?.failed_calls)} failed calls
        </div>
      )}
    </>
  );
}
