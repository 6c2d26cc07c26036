import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewPerson, Person } from "../api/documents";
import { answered, client } from "../api/request";
import { Button } from "../ui/Button";
import { SelectField, submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useRequest } from "../ui/useRequest";
import { ROLES } from "./roles";

/** An account for somebody, who chooses its password by the link that comes back. */
export function NewPersonForm({ onMade }: { readonly onMade: (made: NewPerson) => void }): JSX.Element {
  const [username, setUsername] = useState("");
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Person["role"]>("author");
  const { busy, problem, send } = useRequest();
  const make = (): void =>
    send(
      answered(
        client.POST("/api/persons/", { body: { username: username.trim(), email: email.trim(), role } }),
      ),
      (made) => {
        setUsername("");
        setEmail("");
        onMade(made);
      },
    );
  return (
    <form class="form" aria-label="Make an account" onSubmit={submits(make)}>
      <div class="form-row">
        <TextField
          label="Name"
          value={username}
          maxLength={150}
          required
          autocomplete="off"
          help="letters, digits and @ . + - _"
          onValue={setUsername}
        />
        <TextField label="E-mail" value={email} maxLength={254} autocomplete="off" onValue={setEmail} />
        <SelectField
          label="Role"
          value={role}
          options={ROLES}
          onValue={(value) => setRole(value as Person["role"])}
        />
        <Button type="submit" kind="primary" disabled={busy || username.trim() === ""}>
          Make an account
        </Button>
      </div>
      <ProblemLine text={problem} />
    </form>
  );
}
