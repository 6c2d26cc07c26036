import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, at, client } from "../../api/request";
import { Select } from "../../ui/fields";
import { Loading } from "../../ui/Loading";
import { ProblemLine } from "../../ui/ProblemLine";
import { ResultPath } from "../../ui/ResultPath";
import { RowsTable } from "../../ui/table/RowsTable";
import { useLoaded } from "../../ui/useLoaded";

const REFRESH_MS = 2000;
const LIMIT = 25;

interface Props {
  readonly queries: readonly { readonly id: number; readonly name: string }[];
  /** The last batch whose results are shown; null follows the newest. */
  readonly until: number | null;
}

/** The newest results of a chosen query, newest first, of now or of then. */
export function ResultsTail({ queries, until }: Props): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null);
  const query = queries.find((candidate) => candidate.id === chosen) ?? queries[0] ?? null;
  return (
    <section class="results" aria-label="Results">
      <div class="toolbar">
        <h2>{until === null ? "Newest results" : `Results until batch ${until}`}</h2>
        {queries.length > 0 && (
          <Select
            aria-label="Query"
            value={String(query?.id ?? "")}
            options={queries.map(({ id, name }) => [String(id), name] as const)}
            onValue={(id) => setChosen(Number(id))}
          />
        )}
      </div>
      {query === null ? (
        <p class="empty">
          No query is running here. <a href="/queries/">Deploy one</a> to see results.
        </p>
      ) : (
        <Tail key={query.id} id={query.id} name={query.name} until={until} />
      )}
    </section>
  );
}

interface TailProps {
  readonly id: number;
  readonly name: string;
  readonly until: number | null;
}

function Tail({ id, name, until }: TailProps): JSX.Element {
  const [picked, setPicked] = useState<string | null>(null);
  const asked = { limit: LIMIT, ...(until === null ? {} : { until }) };
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/results/", at({ id }, asked))),
    until === null ? REFRESH_MS : null,
    `${id} ${until}`,
  );
  if (value === null) return <Loading problem={problem} />;
  if (until !== null && value.table !== null)
    return <p class="empty">Of {name} the current table is kept; what it was then is not.</p>;
  if (until !== null && value.rows.length === 0)
    return (
      <p class="empty">
        No result of {name} from then is among the newest that are kept here. Its result files have them all.
      </p>
    );
  if (value.rows.length === 0)
    return <p class="empty">No result of {name} yet. It appears here with the batch that finds it.</p>;
  return (
    <>
      <ProblemLine text={problem} />
      <RowsTable
        columns={value.columns}
        rows={value.rows}
        keys={value.ids}
        caption={
          value.table === null
            ? `${until === null ? "Newest results" : "Results"} of ${name}`
            : `Current table of ${name}`
        }
        onPick={value.table === null ? setPicked : undefined}
        picked={picked}
      />
      {picked !== null && <ResultPath query={id} result={picked} onClose={() => setPicked(null)} />}
    </>
  );
}
