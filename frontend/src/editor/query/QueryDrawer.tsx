import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument, QueryResults } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { instant } from "../../format/quantities";
import { ResultChartPane } from "../../results/ResultChartPane";
import { ImpactFacts } from "../../ui/dialog/ImpactFacts";
import { Loading } from "../../ui/Loading";
import { ProblemLine } from "../../ui/ProblemLine";
import { ResultPath } from "../../ui/ResultPath";
import { Tabs } from "../../ui/Tabs";
import { RowsTable } from "../../ui/table/RowsTable";
import { useLoaded } from "../../ui/useLoaded";
import { READERS_SAY } from "../saved/QueryActions";
import { AccessForm } from "./AccessForm";
import { CheckList } from "./CheckList";
import { VersionList } from "./VersionList";

interface Props {
  readonly query: QueryDocument;
  readonly onQuery: (query: QueryDocument) => void;
  readonly onReverted: (query: QueryDocument) => void;
}

const TABS = ["Results", "Checks", "Versions", "Reach", "Access"] as const;
const REFRESH_MS = 3000;
const LIMIT = 25;

/** Below the editor: what the saved query gives, how it came about, whom it concerns. */
export function QueryDrawer({ query, onQuery, onReverted }: Props): JSX.Element {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Results");
  return (
    <section class="drawer" aria-label="The saved query">
      <Tabs label="The saved query" prefix="drawer" names={TABS} tab={tab} onTab={setTab}>
        {tab === "Results" && (
          <div class="results-and-chart">
            <div>
              <Results query={query} />
            </div>
            {query.topology !== null && <ResultChartPane key={query.id} query={query} onQuery={onQuery} />}
          </div>
        )}
        {tab === "Checks" && <CheckList query={query} />}
        {tab === "Versions" && <VersionList query={query} onReverted={onReverted} />}
        {tab === "Reach" && <Reach query={query} />}
        {tab === "Access" && (
          <AccessForm key={`${query.owner} ${query.team}`} query={query} onChanged={onQuery} />
        )}
      </Tabs>
    </section>
  );
}

function Results({ query }: { query: QueryDocument }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/results/", at({ id: query.id }, { limit: LIMIT }))),
    REFRESH_MS,
    query.id,
  );
  const [picked, setPicked] = useState<string | null>(null);
  if (query.topology === null)
    return <p class="empty">Not deployed. Deploy the query to see its newest results here.</p>;
  const file = `/api/queries/${query.id}/results/download/`;
  return (
    <>
      <div class="toolbar">
        <span class="muted">{orderOf(value)}</span>
        <span class="grow" />
        <a class="button small" href={`${file}?form=csv`} download>
          CSV
        </a>
        <a class="button small" href={`${file}?form=json`} download>
          JSON lines
        </a>
      </div>
      <ProblemLine text={problem} />
      {value !== null && value.rows.length === 0 && (
        <p class="empty">No results yet. They appear here with the batch that finds them.</p>
      )}
      {value !== null && value.rows.length > 0 && (
        <RowsTable
          columns={value.columns}
          rows={value.rows}
          keys={value.ids}
          caption={
            value.table === null ? `Newest results of ${query.name}` : `Current table of ${query.name}`
          }
          onPick={value.table === null ? setPicked : undefined}
          picked={picked}
        />
      )}
      {picked !== null && <ResultPath query={query.id} result={picked} onClose={() => setPicked(null)} />}
    </>
  );
}

/** What the rows are: newest results, or the table of running groups. */
function orderOf(results: QueryResults | null): string {
  if (results === null || results.table === null) return "Newest first";
  const { rows, whole, counted_from: from } = results.table;
  const count = rows === 1 ? "1 row" : `${rows} rows`;
  const table = whole
    ? `Current table: ${count}, what changed last first`
    : `Current table: the ${count} that changed last; there are more`;
  return from === null
    ? table
    : `${table}. Counted from ${instant(from)} UTC on, as older tuples came before it`;
}

function Reach({ query }: { query: QueryDocument }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/impact/", at({ id: query.id }))),
    null,
    `${query.id} ${query.version} ${query.topology}`,
  );
  if (value === null) return <Loading problem={problem} />;
  return (
    <>
      <p class="muted">
        A new version does not affect readers: each keeps the version that it was written against.
      </p>
      <ImpactFacts impact={value} queriesSay={READERS_SAY} />
    </>
  );
}
