import type { JSX } from "preact";
import type { Forecasts } from "../../api/documents";
import { answered, client } from "../../api/request";
import { between } from "../../editor/plan/outlook";
import { count, instant } from "../../format/quantities";
import { hitRateText } from "../../plan/hitRate";
import { Loading } from "../../ui/Loading";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";
import { useLoaded } from "../../ui/useLoaded";

const REFRESH_MS = 10_000;
const LIMIT = 50;
const SIGNS = { open: "…", held: "✓", missed: "✕", overtaken: "–" } as const;
const MEANING = {
  open: "its windows are not full yet",
  held: "the stores hold what was forecast",
  missed: "the stores hold less or more",
  overtaken: "another plan took over before its windows were full",
} as const;
const LOOKS = { open: "muted", held: "good", missed: "bad", overtaken: "muted" } as const;

const COLUMNS: readonly Column<Forecasts["newest"][number]>[] = [
  {
    label: "Query",
    cell: ({ query, version }) => (
      <>
        <strong>{query}</strong> <span class="muted">v{version}</span>
      </>
    ),
  },
  { label: "Deployed (UTC)", class: "instant", cell: ({ made_at }) => instant(made_at) },
  { label: "Forecast, tuples", short: "forecast", kind: "number", cell: (one) => between(one, count) },
  { label: "Held, tuples", short: "held", kind: "number", cell: ({ observed }) => count(observed) },
  {
    label: "Verdict",
    cellTitle: ({ state }) => MEANING[state],
    cell: ({ state }) => (
      <span class={LOOKS[state]}>
        <span aria-hidden="true">{SIGNS[state]} </span>
        {state}
      </span>
    ),
  },
];

/**
 * What the state of this topology's queries was forecast to be when they were deployed, and what it came to.
 */
export function ForecastTable({ name }: { name: string }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/forecasts/", { params: { query: { topology: name, limit: LIMIT } } })),
    REFRESH_MS,
    name,
  );
  if (value === null) return <Loading problem={problem} />;
  return (
    <>
      <p>
        Forecasts of how many tuples a query's stores hold once its windows are full:{" "}
        <strong>{hitRateText(value)}</strong>.{" "}
        {value.open > 0 && <span class="muted">{value.open} not due yet. </span>}
        {value.overtaken > 0 && <span class="muted">{value.overtaken} overtaken by another plan.</span>}
      </p>
      {value.newest.length === 0 ? (
        <p class="empty">No forecasts yet. Deploying a query with windows records one.</p>
      ) : (
        <ScrollArea label="Forecasts">
          <Table
            columns={COLUMNS}
            rows={value.newest}
            rowKey={({ query, made_at }) => `${query} ${made_at}`}
          />
        </ScrollArea>
      )}
    </>
  );
}
