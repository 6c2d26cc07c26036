import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Quotas } from "../accounts/Quotas";
import type { Team } from "../api/documents";
import { answered, at, client, done } from "../api/request";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { SelectField, submits, TextField } from "../ui/fields";
import { LimitsForm } from "../ui/LimitsForm";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { useRequest } from "../ui/useRequest";

const LIMITS = [
  ["max_state_tuples", "Tuples kept, estimated"],
  ["max_tuple_rate", "Tuples/s of a step, estimated"],
  ["max_state_bytes", "Bytes kept, observed"],
  ["max_result_rate", "Results/s, observed"],
] as const;

interface Props {
  readonly team: Team;
  readonly onChange: () => void;
}

/** What admins do with a team: its members, limits and name. */
export function TeamManagement({ team, onChange }: Props): JSX.Element {
  const here = at({ id: team.id });
  return (
    <section aria-label={`Manage ${team.name}`}>
      <Members team={team} onChange={onChange} />
      <h3>What one query of {team.name} may cost</h3>
      <LimitsForm
        label={`Limits of queries of ${team.name}`}
        fields={LIMITS}
        limits={Object.fromEntries(LIMITS.map(([name]) => [name, team[name]]))}
        otherwise="as everywhere"
        save={(body) => answered(client.PATCH("/api/teams/{id}/", { ...here, body }))}
        onSaved={onChange}
      />
      <h3>How much each member may have</h3>
      <Quotas
        whose={`each member of ${team.name}`}
        load={() => answered(client.GET("/api/teams/{id}/quota/", here))}
        save={(body) => answered(client.PATCH("/api/teams/{id}/quota/", { ...here, body }))}
      />
      <NameForm team={team} onChange={onChange} />
    </section>
  );
}

function Members({ team, onChange }: Props): JSX.Element {
  const accounts = useLoaded(() => answered(client.GET("/api/accounts/")));
  const [chosen, setChosen] = useState("");
  const { busy, problem, send } = useRequest();
  const others = (accounts.value ?? [])
    .filter(({ username, is_service }) => !is_service && !team.members.includes(username))
    .map(({ username }) => username);
  const change = (body: { add?: string[]; remove?: string[] }): void =>
    send(answered(client.PATCH("/api/teams/{id}/members/", { ...at({ id: team.id }), body })), () => {
      setChosen("");
      onChange();
    });
  return (
    <>
      <h3>Members</h3>
      {team.members.length === 0 && <p class="empty">Nobody is in {team.name}.</p>}
      <ul class="members">
        {team.members.map((name) => (
          <li key={name}>
            {name}{" "}
            <Button
              small
              disabled={busy}
              aria-label={`Take out ${name}`}
              onClick={() => change({ remove: [name] })}
            >
              Take out
            </Button>
          </li>
        ))}
      </ul>
      <form
        class="form"
        aria-label={`Add a member to ${team.name}`}
        onSubmit={submits(() => change({ add: [chosen] }))}
      >
        <div class="form-row">
          <SelectField
            label="Account"
            value={chosen}
            options={[["", "choose"], ...others]}
            onValue={setChosen}
          />
          <Button type="submit" disabled={busy || chosen === ""}>
            Add
          </Button>
        </div>
      </form>
      <ProblemLine text={problem ?? accounts.problem} />
    </>
  );
}

function NameForm({ team, onChange }: Props): JSX.Element {
  const [name, setName] = useState(team.name);
  const [leaving, setLeaving] = useState(false);
  const { busy, problem, send } = useRequest();
  const here = at({ id: team.id });
  return (
    <>
      <form
        class="form"
        aria-label={`Rename ${team.name}`}
        onSubmit={submits(() =>
          send(
            answered(client.PATCH("/api/teams/{id}/", { ...here, body: { name: name.trim() } })),
            onChange,
          ),
        )}
      >
        <div class="form-row">
          <TextField label="Name" value={name} maxLength={63} onValue={setName} />
          <Button type="submit" disabled={busy || name.trim() === "" || name.trim() === team.name}>
            Rename
          </Button>
          <Button kind="danger" disabled={busy} onClick={() => setLeaving(true)}>
            Delete {team.name}
          </Button>
        </div>
      </form>
      <ProblemLine text={problem} />
      {leaving && (
        <ConfirmDialog
          title={`Delete ${team.name}?`}
          confirm="Delete"
          onClose={() => setLeaving(false)}
          onConfirm={() => {
            setLeaving(false);
            send(done(client.DELETE("/api/teams/{id}/", here)), onChange);
          }}
        >
          <p>
            Its members stay, its budget and limits go. A team that has streams, queries or service accounts
            stays.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
