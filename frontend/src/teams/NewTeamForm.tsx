import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, client } from "../api/request";
import { Button } from "../ui/Button";
import { submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useRequest } from "../ui/useRequest";

/** A team without members, to begin with. */
export function NewTeamForm({ onMade }: { readonly onMade: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const { busy, problem, send } = useRequest();
  const make = (): void =>
    send(answered(client.POST("/api/teams/", { body: { name: name.trim() } })), () => {
      setName("");
      onMade();
    });
  return (
    <form class="form" aria-label="Make a team" onSubmit={submits(make)}>
      <div class="form-row">
        <TextField label="Name of a new team" value={name} maxLength={63} required onValue={setName} />
        <Button type="submit" kind="primary" disabled={busy || name.trim() === ""}>
          Make a team
        </Button>
      </div>
      <ProblemLine text={problem} />
    </form>
  );
}
