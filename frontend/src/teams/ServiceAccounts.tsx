import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewToken, ServiceAccount, Team, TokenWrite } from "../api/documents";
import { answered, at, client, done, explainError } from "../api/request";
import { ago } from "../format/quantities";
import { TokenList } from "../tokens/TokenList";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";

const ALL = "/api/teams/{id}/service-accounts/";
const ONE = "/api/teams/{id}/service-accounts/{account}/";
const TOKENS = "/api/teams/{id}/service-accounts/{account}/tokens/";
const TOKEN = "/api/teams/{id}/service-accounts/{account}/tokens/{token}/";

/** The programs that act for a team: seen by its members, made, disabled and deleted by admins. */
export function ServiceAccounts({ team }: { readonly team: Team }): JSX.Element {
  const now = useNow();
  const accounts = useLoaded(() => answered(client.GET(ALL, at({ id: team.id }))));
  const [open, setOpen] = useState<number | null>(null);
  const [leaving, setLeaving] = useState<ServiceAccount | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  /** Whether it succeeded; why not is shown. */
  const attempt = async (work: Promise<unknown>): Promise<boolean> => {
    setProblem(null);
    try {
      await work;
      return true;
    } catch (error: unknown) {
      setProblem(explainError(error));
      return false;
    } finally {
      accounts.reload();
    }
  };
  const here = ({ id }: ServiceAccount) => at({ id: team.id, account: id });
  const shown = accounts.value?.find(({ id }) => id === open);
  const columns: readonly Column<ServiceAccount>[] = [
    { label: "Name", cell: (one) => one.name },
    { label: "State", cell: (one) => (one.enabled ? "enabled" : "disabled: its tokens do not count") },
    { label: "Made", short: "made", cell: (one) => ago(one.created_at, now) },
  ];
  const actions: Column<ServiceAccount> = {
    label: "Actions",
    hidden: true,
    cell: (one) => (
      <span class="actions">
        <Button
          small
          aria-label={`Tokens of ${one.name}`}
          aria-expanded={open === one.id}
          onClick={() => setOpen(open === one.id ? null : one.id)}
        >
          Tokens
        </Button>
        <Button
          small
          aria-label={`${one.enabled ? "Disable" : "Enable"} ${one.name}`}
          onClick={() =>
            attempt(answered(client.PUT(ONE, { ...here(one), body: { enabled: !one.enabled } })))
          }
        >
          {one.enabled ? "Disable" : "Enable"}
        </Button>
        <Button small kind="danger" aria-label={`Delete ${one.name}`} onClick={() => setLeaving(one)}>
          Delete
        </Button>
      </span>
    ),
  };
  return (
    <>
      <ProblemLine text={problem ?? accounts.problem} />
      {team.can_edit && (
        <NewServiceAccountForm
          team={team.name}
          onMake={(name) => attempt(answered(client.POST(ALL, { ...at({ id: team.id }), body: { name } })))}
        />
      )}
      {accounts.value?.length === 0 && (
        <p class="empty">
          {team.name} has no service account. One is for a program that acts for the team and not for a
          person, such as a loader: it has tokens, cannot sign in, and stays when people leave.
          {team.can_edit ? "" : " Admins make them."}
        </p>
      )}
      {accounts.value !== null && accounts.value.length > 0 && (
        <Table
          columns={team.can_edit ? [...columns, actions] : columns}
          rows={accounts.value}
          rowKey={({ id }) => id}
        />
      )}
      {shown !== undefined && <ServiceTokens key={shown.id} team={team} account={shown} />}
      {leaving !== null && (
        <ConfirmDialog
          title={`Delete ${leaving.name}?`}
          confirm="Delete"
          onClose={() => setLeaving(null)}
          onConfirm={() => {
            setLeaving(null);
            attempt(done(client.DELETE(ONE, here(leaving))));
          }}
        >
          <p>Its tokens and alerts go with it, and programs that use them are refused at once.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

interface FormProps {
  readonly team: string;
  /** Whether it is there now. */
  readonly onMake: (name: string) => Promise<boolean>;
}

function NewServiceAccountForm({ team, onMake }: FormProps): JSX.Element {
  const [name, setName] = useState("");
  const make = async (): Promise<void> => {
    if (await onMake(name.trim())) setName("");
  };
  return (
    <form class="form" aria-label={`Make a service account of ${team}`} onSubmit={submits(make)}>
      <div class="form-row">
        <TextField
          label="Name"
          value={name}
          maxLength={63}
          required
          placeholder="loader"
          help="lower-case letters, digits, _ and -, starting with a letter"
          onValue={setName}
        />
        <Button type="submit" kind="primary" disabled={name.trim() === ""}>
          Make a service account
        </Button>
      </div>
    </form>
  );
}

interface TokensProps {
  readonly team: Team;
  readonly account: ServiceAccount;
}

function ServiceTokens({ team, account }: TokensProps): JSX.Element {
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  const here = { id: team.id, account: account.id };
  const writable = (streams.value ?? []).filter(
    (one) => one.team === team.name || one.owner === account.name,
  );
  const make = (token: TokenWrite): Promise<NewToken> =>
    answered(client.POST(TOKENS, { ...at(here), body: token }));
  return (
    <section aria-label={`Tokens of ${account.name}`}>
      <h3>Tokens of {account.name}</h3>
      <TokenList
        who={account.name}
        example="nightly"
        streams={writable.map(({ name }) => name)}
        load={() => answered(client.GET(TOKENS, at(here)))}
        {...(account.enabled ? { make } : {})}
        revoke={({ id }) => done(client.DELETE(TOKEN, at({ ...here, token: id })))}
      />
    </section>
  );
}
