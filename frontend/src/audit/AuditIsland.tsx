import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AuditPage } from "../api/documents";
import { answered, client, explainError } from "../api/request";
import { Button } from "../ui/Button";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { AuditFilters } from "./AuditFilters";
import { AuditTable } from "./AuditTable";
import { ANYTHING, addressOf, narrows, queryOf, type Wanted, wantedOf } from "./wanted";

const LIMIT = 100;

async function load(wanted: Wanted, before?: number): Promise<AuditPage> {
  const query = { ...queryOf(wanted), limit: LIMIT, ...(before === undefined ? {} : { before }) };
  return answered(client.GET("/api/audit/", { params: { query } }));
}

/** Who changed what of everything, for admins: newest first, narrowed by whatever is known of it. */
export function AuditIsland(): JSX.Element {
  const [wanted, setWanted] = useState(() => wantedOf(window.location.search));
  const change = (next: Wanted): void => {
    window.history.replaceState(null, "", `${window.location.pathname}${addressOf(next)}`);
    setWanted(next);
  };
  const address = addressOf(wanted);
  return (
    <section class="audit">
      <AuditFilters wanted={wanted} onWanted={change} />
      <Entries key={address} wanted={wanted} onAll={() => change(ANYTHING)} />
    </section>
  );
}

interface EntriesProps {
  readonly wanted: Wanted;
  /** Looks for anything again. */
  readonly onAll: () => void;
}

function Entries({ wanted, onAll }: EntriesProps): JSX.Element {
  const { value, problem, reload } = useLoaded(() => load(wanted));
  const [older, setOlder] = useState<readonly AuditPage[]>([]);
  const [asks, setAsks] = useState(false);
  const [olderProblem, setOlderProblem] = useState<string | null>(null);
  if (value === null) return <Loading problem={problem} />;
  const last = older.at(-1) ?? value;
  const more = (before: number): void => {
    setAsks(true);
    load(wanted, before)
      .then(
        (page) => {
          setOlder((pages) => [...pages, page]);
          setOlderProblem(null);
        },
        (error: unknown) => setOlderProblem(explainError(error)),
      )
      .finally(() => setAsks(false));
  };
  const anew = (): void => {
    setOlder([]);
    reload();
  };
  if (value.entries.length === 0)
    return (
      <p class="empty">
        {narrows(wanted) ? (
          <>
            No entry is like that. <Button onClick={onAll}>Show all</Button>
          </>
        ) : (
          "Nothing was changed yet. Whoever signs in, writes, deploys or permits something is told of here."
        )}
      </p>
    );
  return (
    <>
      <ProblemLine text={problem} />
      <AuditTable entries={[value, ...older].flatMap(({ entries }) => entries)} />
      <ProblemLine text={olderProblem} />
      <div class="toolbar">
        {last.next === null ? (
          <span class="muted">That is all.</span>
        ) : (
          <Button disabled={asks} onClick={() => more(last.next as number)}>
            Older entries
          </Button>
        )}
        <Button onClick={anew}>Load anew</Button>
      </div>
    </>
  );
}
