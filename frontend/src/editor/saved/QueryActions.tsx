import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Impact, QueryDocument } from "../../api/documents";
import { answered, at, client, done } from "../../api/request";
import { Button } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/dialog/ConfirmDialog";
import { ImpactFacts } from "../../ui/dialog/ImpactFacts";
import { ProblemLine } from "../../ui/ProblemLine";
import { useRequest } from "../../ui/useRequest";

interface Props {
  readonly query: QueryDocument;
  readonly onQuery: (query: QueryDocument) => void;
}

/** Undeploying a query, or deleting one that is not deployed; both say whom it concerns first. */
export function QueryActions({ query, onQuery }: Props): JSX.Element {
  const [asking, setAsking] = useState<Impact | null>(null);
  const [deleting, setDeleting] = useState(false);
  const { problem, send } = useRequest();
  const ask = (): void =>
    send(answered(client.GET("/api/queries/{id}/impact/", at({ id: query.id }))), setAsking);
  const undeploy = (): void => {
    setAsking(null);
    send(answered(client.POST("/api/queries/{id}/undeploy/", at({ id: query.id }))), () =>
      send(answered(client.GET("/api/queries/{id}/", at({ id: query.id }))), onQuery),
    );
  };
  const remove = (): void => {
    setDeleting(false);
    send(done(client.DELETE("/api/queries/{id}/", at({ id: query.id }))), () =>
      window.location.assign("/queries/"),
    );
  };
  const deployed = query.topology !== null;
  return (
    <>
      <ProblemLine text={problem} />
      {deployed && (
        <Button small kind="danger" onClick={ask}>
          Undeploy…
        </Button>
      )}
      {!deployed && (
        <Button small kind="danger" onClick={() => setDeleting(true)}>
          Delete…
        </Button>
      )}
      {asking !== null && (
        <ConfirmDialog
          title={`Undeploy ${query.name}?`}
          confirm="Undeploy"
          onClose={() => setAsking(null)}
          onConfirm={undeploy}
        >
          <p>{query.topology} stops answering it; other queries go on.</p>
          <ImpactFacts impact={asking} queriesSay={READERS_SAY} />
        </ConfirmDialog>
      )}
      {deleting && (
        <ConfirmDialog
          title={`Delete ${query.name}?`}
          confirm="Delete"
          onClose={() => setDeleting(false)}
          onConfirm={remove}
        >
          <p>
            Its {query.version === 1 ? "version goes" : `${query.version} versions go`} with it. Queries that
            read it prevent this.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** What one query that reads it does, and what several do. */
export const READERS_SAY = ["reads it as a view", "read it as a view"] as const;
