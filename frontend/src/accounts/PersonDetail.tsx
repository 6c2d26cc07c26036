import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { PasswordLink, Person } from "../api/documents";
import { answered, at, client, done } from "../api/request";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useRequest } from "../ui/useRequest";
import { PasswordLinkNotice } from "./PasswordLinkNotice";
import { Quotas } from "./Quotas";
import { SignIns } from "./SignIns";

interface Props {
  readonly person: Person;
  readonly isAdmin: boolean;
  readonly onChange: () => void;
}

/** All that is done with one account. */
export function PersonDetail({ person, isAdmin, onChange }: Props): JSX.Element {
  const here = at({ id: person.id });
  return (
    <section aria-label={`Account ${person.username}`}>
      <h2>{person.username}</h2>
      {isAdmin && <Access person={person} onChange={onChange} />}
      <h3>Quotas</h3>
      <p class="muted small">
        How much {person.username} may have; without a number what its teams say, or else what holds
        everywhere. Operators and admins may have as much as they want.
      </p>
      <Quotas
        whose={person.username}
        load={() => answered(client.GET("/api/persons/{id}/quota/", here))}
        save={(body) => answered(client.PATCH("/api/persons/{id}/quota/", { ...here, body }))}
      />
      {isAdmin && (
        <>
          <h3>Signed in</h3>
          <SignIns person={person} />
        </>
      )}
    </section>
  );
}

function Access({ person, onChange }: Omit<Props, "isAdmin">): JSX.Element {
  const { busy, problem, send } = useRequest();
  const [email, setEmail] = useState(person.email);
  const [link, setLink] = useState<PasswordLink | null>(null);
  const [asked, setAsked] = useState<"delete" | "reset" | null>(null);
  const here = at({ id: person.id });
  const change = (body: { email?: string; is_active?: boolean }): void =>
    send(answered(client.PATCH("/api/persons/{id}/", { ...here, body })), onChange);
  return (
    <>
      <form class="form" aria-label="E-mail" onSubmit={submits(() => change({ email: email.trim() }))}>
        <div class="form-row">
          <TextField label="E-mail" value={email} maxLength={254} autocomplete="off" onValue={setEmail} />
          <Button type="submit" disabled={busy || email.trim() === person.email}>
            Set
          </Button>
        </div>
      </form>
      <div class="toolbar">
        {!person.by_provider && person.is_active && (
          <Button
            disabled={busy}
            title="Its owner chooses a password by it; until then the old one counts"
            onClick={() => send(answered(client.POST("/api/persons/{id}/password-link/", here)), setLink)}
          >
            Make a password link
          </Button>
        )}
        {person.has_second_factor && (
          <Button disabled={busy} onClick={() => setAsked("reset")}>
            Reset the second factor
          </Button>
        )}
        <Button disabled={busy} onClick={() => change({ is_active: !person.is_active })}>
          {person.is_active ? "Disable" : "Enable"}
        </Button>
        <Button kind="danger" disabled={busy} onClick={() => setAsked("delete")}>
          Delete
        </Button>
        <a class="button" href={`/audit/?who=${encodeURIComponent(person.username)}`}>
          What it has changed
        </a>
      </div>
      {person.by_provider && <p class="muted">It signs in by the provider, and has no password here.</p>}
      <ProblemLine text={problem} />
      {link !== null && <PasswordLinkNotice name={person.username} link={link} />}
      {asked === "reset" && (
        <ConfirmDialog
          title={`Reset the second factor of ${person.username}?`}
          confirm="Reset"
          onClose={() => setAsked(null)}
          onConfirm={() => {
            setAsked(null);
            send(done(client.DELETE("/api/persons/{id}/second-factor/", here)), onChange);
          }}
        >
          <p>It signs in by its password alone until it has another one. Be sure who asks for this.</p>
        </ConfirmDialog>
      )}
      {asked === "delete" && (
        <ConfirmDialog
          title={`Delete ${person.username}?`}
          confirm="Delete"
          name={person.username}
          onClose={() => setAsked(null)}
          onConfirm={() => {
            setAsked(null);
            send(done(client.DELETE("/api/persons/{id}/", here)), onChange);
          }}
        >
          <p>
            Its tokens and alerts go with it. An account that owns streams or queries, or wrote one, stays:
            hand over what it has first, or disable it.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
