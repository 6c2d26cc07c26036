import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { AccountName, accountText } from "../../ui/AccountName";
import { Button } from "../../ui/Button";
import { SelectField, submits } from "../../ui/fields";
import { ProblemLine } from "../../ui/ProblemLine";
import { TeamField } from "../../ui/TeamField";
import { useLoaded } from "../../ui/useLoaded";
import { useRequest } from "../../ui/useRequest";

interface Props {
  readonly query: QueryDocument;
  readonly onChanged: (query: QueryDocument) => void;
}

/** Who owns the query and which team changes it too; handing it over. */
export function AccessForm({ query, onChanged }: Props): JSX.Element {
  const accounts = useLoaded(() => answered(client.GET("/api/accounts/")));
  const [owner, setOwner] = useState(query.owner);
  const [team, setTeam] = useState(query.team ?? "");
  const { problem, send } = useRequest();
  if (!query.can_edit) {
    return (
      <p class="muted">
        <AccountName name={query.owner} isService={query.owner_is_service} /> owns this query
        {query.team === null ? "" : `; the team ${query.team} may also change it`}. Everyone who is signed in
        can read it.
      </p>
    );
  }
  const handOver = (): void =>
    send(
      answered(
        client.POST("/api/queries/{id}/transfer/", {
          ...at({ id: query.id }),
          body: { owner, team: team === "" ? null : team },
        }),
      ),
      onChanged,
    );
  return (
    <form class="form" onSubmit={submits(handOver)}>
      <ProblemLine text={problem} />
      <div class="form-row">
        <SelectField
          label="Owner"
          value={owner}
          options={(accounts.value ?? [{ username: query.owner, is_service: query.owner_is_service }]).map(
            ({ username, is_service }) => [username, accountText(username, is_service)] as const,
          )}
          onValue={setOwner}
        />
        <TeamField label="Team that may also change it" team={team} onChange={setTeam} />
      </div>
      <div class="dialog-actions">
        <span class="grow" />
        <Button type="submit" disabled={owner === query.owner && team === (query.team ?? "")}>
          Hand over
        </Button>
      </div>
    </form>
  );
}
