import type { JSX } from "preact";
import type { Check, QueryDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { count, instant, milliseconds } from "../../format/quantities";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { checkedSpan, type LightState, lightOf, plural, verdictText } from "../../ui/correctness";
import { ProblemLine } from "../../ui/ProblemLine";
import { RowsTable } from "../../ui/table/RowsTable";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { TableHead } from "../../ui/table/TableHead";
import { useLoaded } from "../../ui/useLoaded";
import { useNow } from "../../ui/useNow";

const REFRESH_MS = 5000;
const LIMIT = 50;
const STATES: Readonly<Record<Check["verdict"], LightState>> = {
  equal: "equal",
  differs: "differs",
  unchecked: "unknown",
};

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
          <table class="list stack">
            <TableHead
              columns={[
                "When (UTC)",
                "Verdict",
                "Batches",
                {
                  label: "Compared",
                  class: "number",
                  title: "by their values; the others only by their number",
                },
                { label: "Tuples", class: "number" },
                { label: "Took", class: "number" },
              ]}
            />
            <tbody>
              {value.map((check) => (
                <tr key={check.at}>
                  <td class="instant">{instant(check.at)}</td>
                  <td>
                    <CorrectnessLight
                      light={{
                        state: STATES[check.verdict],
                        text: verdictText(check),
                        detail: check.reason ?? "",
                      }}
                    />
                    {check.reason !== null && <div class="muted small">{check.reason}</div>}
                  </td>
                  <td>
                    {checkedSpan(check)} <span class="muted">v{check.version}</span>
                  </td>
                  <td class="number" data-label="compared">
                    {check.verdict === "unchecked"
                      ? count(null)
                      : `${count(check.compared)} of ${count(check.results)}`}
                  </td>
                  <td class="number" data-label="tuples">
                    {check.verdict === "unchecked" ? count(null) : count(check.tuples)}
                  </td>
                  <td class="number" data-label="took">
                    {milliseconds(check.seconds * 1000)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
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
