import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument } from "../../api/documents";
import { answered, at, client, done, explainError } from "../../api/request";
import { ConfirmDialog } from "../../ui/dialog/ConfirmDialog";
import { SelectField } from "../../ui/fields";
import { ProblemLine } from "../../ui/ProblemLine";
import { TeamField } from "../../ui/TeamField";
import { useLoaded } from "../../ui/useLoaded";

interface Props {
  readonly query: QueryDocument;
  readonly onChanged: (query: QueryDocument) => void;
}

/** Who owns the query and which team changes it too; handing it over, and deleting it. */
export function AccessForm({ query, onChanged }: Props): JSX.Element {
  const accounts = useLoaded(() => answered(client.GET("/api/accounts/")));
  const [owner, setOwner] = useState(query.owner);
  const [team, setTeam] = useState(query.team ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  if (!query.can_edit) {
    return (
      <p class="muted">
        {query.owner} owns this query
        {query.team === null ? "" : `; the team ${query.team} may also change it`}. Everyone who is signed in
        can read it.
      </p>
    );
  }
  const attempt = (work: Promise<unknown>, then: (answer: unknown) => void): void => {
    setProblem(null);
    work.then(then, (error: unknown) => setProblem(explainError(error)));
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        attempt(
          answered(
            client.POST("/api/queries/{id}/transfer/", {
              ...at({ id: query.id }),
              body: { owner, team: team === "" ? null : team },
            }),
          ).then(onChanged),
          () => undefined,
        );
      }}
    >
      <ProblemLine text={problem} />
      <div class="form-row">
        <SelectField
          label="Owner"
          value={owner}
          options={(accounts.value ?? [{ username: query.owner }]).map(({ username }) => username)}
          onValue={setOwner}
        />
        <TeamField label="Team that may also change it" team={team} onChange={setTeam} />
      </div>
      <div class="dialog-actions">
        <button
          type="button"
          class="button danger"
          disabled={query.topology !== null}
          title={query.topology === null ? undefined : "Undeploy it first."}
          onClick={() => setAsking(true)}
        >
          Delete…
        </button>
        <span class="grow" />
        <button type="submit" class="button" disabled={owner === query.owner && team === (query.team ?? "")}>
          Hand over
        </button>
      </div>
      {asking && (
        <ConfirmDialog
          title={`Delete ${query.name}?`}
          confirm="Delete"
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            attempt(done(client.DELETE("/api/queries/{id}/", at({ id: query.id }))), () =>
              window.location.assign("/queries/"),
            );
          }}
        >
          <p>
            Its {query.version === 1 ? "version goes" : `${query.version} versions go`} with it. Queries that
            read it prevent this.
          </p>
        </ConfirmDialog>
      )}
    </form>
  );
}
