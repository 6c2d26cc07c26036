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

/** The newest results of a chosen query, newest first. */
export function ResultsTail({
  queries,
}: {
  queries: readonly { readonly id: number; readonly name: string }[];
}): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null);
  const query = queries.find((candidate) => candidate.id === chosen) ?? queries[0] ?? null;
  return (
    <section class="results" aria-label="Results">
      <div class="toolbar">
        <h2>Newest results</h2>
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
        <Tail key={query.id} id={query.id} name={query.name} />
      )}
    </section>
  );
}

function Tail({ id, name }: { id: number; name: string }): JSX.Element {
  const [picked, setPicked] = useState<string | null>(null);
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/results/", at({ id }, { limit: LIMIT }))),
    REFRESH_MS,
    id,
  );
  if (value === null) return <Loading problem={problem} />;
  if (value.rows.length === 0)
    return <p class="empty">No result of {name} yet. It appears here with the batch that finds it.</p>;
  return (
    <>
      <ProblemLine text={problem} />
      <RowsTable
        columns={value.columns}
        rows={value.rows}
        keys={value.ids}
        caption={value.table === null ? `Newest results of ${name}` : `Current table of ${name}`}
        onPick={value.table === null ? setPicked : undefined}
        picked={picked}
      />
      {picked !== null && <ResultPath query={id} result={picked} onClose={() => setPicked(null)} />}
    </>
  );
}
