import type { JSX } from "preact";
import type { Check, QueryDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { count, instant, milliseconds, plural } from "../../format/quantities";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { checkedSpan, type LightState, lightOf, verdictText } from "../../ui/correctness";
import { ProblemLine } from "../../ui/ProblemLine";
import { RowsTable } from "../../ui/table/RowsTable";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";
import { useLoaded } from "../../ui/useLoaded";
import { useNow } from "../../ui/useNow";

const REFRESH_MS = 5000;
const LIMIT = 50;
const STATES: Readonly<Record<Check["verdict"], LightState>> = {
  equal: "equal",
  differs: "differs",
  unchecked: "unknown",
};

const COLUMNS: readonly Column<Check>[] = [
  { label: "When (UTC)", class: "instant", cell: (check) => instant(check.at) },
  {
    label: "Verdict",
    cell: (check) => (
      <>
        <CorrectnessLight
          light={{ state: STATES[check.verdict], text: verdictText(check), detail: check.reason ?? "" }}
        />
        {check.reason !== null && <div class="muted small">{check.reason}</div>}
      </>
    ),
  },
  {
    label: "Batches",
    cell: (check) => (
      <>
        {checkedSpan(check)} <span class="muted">v{check.version}</span>
      </>
    ),
  },
  {
    label: "Compared",
    kind: "number",
    title: "by their values; the others only by their number",
    cell: ({ verdict, compared, results }) =>
      verdict === "unchecked" ? count(null) : `${count(compared)} of ${count(results)}`,
  },
  {
    label: "Tuples",
    kind: "number",
    cell: ({ verdict, tuples }) => count(verdict === "unchecked" ? null : tuples),
  },
  { label: "Took", kind: "number", cell: ({ seconds }) => milliseconds(seconds * 1000) },
];

/**
 * Every comparison of the query's results with a batch join, newest first, and what the newest difference
 * was.
 */
export function CheckList({ query }: { query: QueryDocument }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/checks/", at({ id: query.id }, { limit: LIMIT }))),
    REFRESH_MS,
    query.id,
  );
  const now = useNow();
  const differing = value?.find((check) => check.verdict === "differs");
  return (
    <>
      <p>
        <CorrectnessLight light={lightOf(query.correctness, now)} />
      </p>
      <p class="muted">
        What the query published in its newest batches is compared with what DuckDB makes of the same tuples,
        as far as Redis still holds them. Values are compared as far back as the live tail reaches, beyond it
        the number of results.
      </p>
      <ProblemLine text={problem} />
      {differing !== undefined && <Difference query={query} check={differing} />}
      {value?.length === 0 && (
        <p class="empty">
          No check yet.{" "}
          {query.topology === null
            ? "Deploy the query first."
            : "The first one is made within a minute of its first batch."}
        </p>
      )}
      {value !== null && value.length > 0 && (
        <ScrollArea label="Checks">
          <Table columns={COLUMNS} rows={value} rowKey={({ at: when }) => when} />
        </ScrollArea>
      )}
    </>
  );
}

/** Rows that only one side has. */
function Difference({ query, check }: { query: QueryDocument; check: Check }): JSX.Element {
  return (
    <section class="problem-line" aria-label="Newest difference">
      <p>
        ✕ {instant(check.at)} UTC, {checkedSpan(check)}: {plural(check.expected, "result")} expected,{" "}
        {plural(check.results, "result")} published.
      </p>
      {check.missing_rows.length > 0 && (
        <>
          <p>Missing, such as</p>
          <RowsTable columns={query.outputs} rows={check.missing_rows} caption="Missing results" />
        </>
      )}
      {check.extra_rows.length > 0 && (
        <>
          <p>Extra, such as</p>
          <RowsTable columns={query.outputs} rows={check.extra_rows} caption="Extra results" />
        </>
      )}
    </section>
  );
}
