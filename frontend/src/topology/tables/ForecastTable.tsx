import type { JSX } from "preact";
import { answered, client } from "../../api/request";
import { between } from "../../editor/plan/outlook";
import { count, instant } from "../../format/quantities";
import { hitRateText } from "../../plan/hitRate";
import { ProblemLine } from "../../ui/ProblemLine";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { TableHead } from "../../ui/table/TableHead";
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

/**
 * What the state of this topology's queries was forecast to be when they were deployed, and what it came to.
 */
export function ForecastTable({ name }: { name: string }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/forecasts/", { params: { query: { topology: name, limit: LIMIT } } })),
    REFRESH_MS,
    name,
  );
  if (value === null)
    return problem === null ? <p class="muted">Loading…</p> : <ProblemLine text={problem} />;
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
          <table class="list stack">
            <TableHead
              columns={[
                "Query",
                "Deployed (UTC)",
                { label: "Forecast, tuples", class: "number" },
                { label: "Held, tuples", class: "number" },
                "Verdict",
              ]}
            />
            <tbody>
              {value.newest.map((one) => (
                <tr key={`${one.query} ${one.made_at}`}>
                  <td>
                    <strong>{one.query}</strong> <span class="muted">v{one.version}</span>
                  </td>
                  <td class="instant">{instant(one.made_at)}</td>
                  <td class="number" data-label="forecast">
                    {between(one, count)}
                  </td>
                  <td class="number" data-label="held">
                    {count(one.observed)}
                  </td>
                  <td
                    title={MEANING[one.state]}
                    class={{ open: "muted", held: "good", missed: "bad", overtaken: "muted" }[one.state]}
                  >
                    <span aria-hidden="true">{SIGNS[one.state]} </span>
                    {one.state}
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
