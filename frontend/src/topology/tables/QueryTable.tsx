import type { JSX } from "preact";
import type { Correctness } from "../../api/documents";
import type { StreamColour } from "../../colour/streams";
import { count, milliseconds, UNKNOWN, windowLength } from "../../format/quantities";
import type { BatchCompleted } from "../../live/messages";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { lightOf } from "../../ui/correctness";
import { StreamChip } from "../../ui/StreamChip";
import { type Column, LongTable } from "../../ui/table/LongTable";
import { completeness } from "./completeness";

interface Props {
  readonly graph: PhysicalGraph;
  readonly queries: readonly {
    readonly id: number;
    readonly name: string;
    readonly version: number;
    readonly correctness?: Correctness | null;
  }[];
  readonly batch: BatchCompleted | null;
  readonly colour: StreamColour;
}

type Row = PhysicalGraph["queries"][number];

export function QueryTable({ graph, queries, batch, colour }: Props): JSX.Element {
  const ids = new Map(queries.map((query) => [query.name, query]));
  const metricsOf = (row: Row): BatchCompleted["queries"][string] | undefined => batch?.queries[row.name];
  const columns: readonly Column<Row>[] = [
    { key: "query", label: "Query", value: (row) => row.name },
    { key: "inputs", label: "Inputs" },
    {
      key: "results",
      label: "Results",
      number: true,
      title: "in the newest batch",
      value: (row) => metricsOf(row)?.results ?? null,
    },
    {
      key: "p50",
      label: "p50",
      number: true,
      title: "from a tuple's arrival to the commit of its results, median",
      value: (row) => metricsOf(row)?.latency_ms_p50 ?? null,
    },
    {
      key: "p99",
      label: "p99",
      number: true,
      title: "the same, 99th percentile",
      value: (row) => metricsOf(row)?.latency_ms_p99 ?? null,
    },
    { key: "complete", label: "Complete since", value: (row) => metricsOf(row)?.complete_since ?? null },
    { key: "checked", label: "Checked", title: "against a batch join of the same tuples" },
  ];
  return (
    <LongTable
      caption="Queries"
      class="stack"
      columns={columns}
      rows={graph.queries}
      text={(row) => [row.name, ...row.inputs.map((input) => input.stream)].join("\n")}
    >
      {(query) => {
        const known = ids.get(query.name);
        const metrics = metricsOf(query);
        const complete = completeness(query.inputs, metrics);
        return (
          <tr key={query.name}>
            <td>
              {known === undefined ? (
                query.name
              ) : (
                <a class="row-link" href={`/queries/${known.id}/`}>
                  {query.name}
                </a>
              )}{" "}
              {known !== undefined && <span class="muted">v{known.version}</span>}
            </td>
            <td class="chips">
              {query.inputs.map((input) => (
                <StreamChip key={input.alias} stream={input.stream} colour={colour} />
              ))}{" "}
              <span class="muted">
                {[
                  ...new Set(
                    query.inputs.map((input) =>
                      windowLength(input.window_us === null ? null : input.window_us / 1000),
                    ),
                  ),
                ].join(", ")}
              </span>
            </td>
            <td class="number" data-label="results">
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
            </td>
            <td class="number" data-label="p50">
              {milliseconds(metrics?.latency_ms_p50)}
            </td>
            <td class="number" data-label="p99">
              {milliseconds(metrics?.latency_ms_p99)}
            </td>
            <td data-label="complete since" title={complete.advice}>
              {complete.text}
              {complete.advice !== "" && <span class="visually-hidden">. {complete.advice}</span>}
            </td>
            <td data-label="checked">
              {known?.correctness === undefined ? (
                UNKNOWN
              ) : (
                <CorrectnessLight light={lightOf(known.correctness, null)} />
              )}
            </td>
          </tr>
        );
      }}
    </LongTable>
  );
}
