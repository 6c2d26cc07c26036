import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewToken, Token } from "../api/documents";
import { answered, at, client, done, explainError } from "../api/request";
import { ago, instant } from "../format/quantities";
import { Button } from "../ui/Button";
import { SelectField, submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { QuotaLine } from "../ui/QuotaLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";

/** How programs say that they act for the person: tokens made, listed and revoked. */
export function TokensIsland(): JSX.Element {
  const now = useNow();
  const tokens = useLoaded(() => answered(client.GET("/api/tokens/")));
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  const [name, setName] = useState("");
  const [stream, setStream] = useState("");
  const [made, setMade] = useState<NewToken | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const attempt = (work: Promise<unknown>): void => {
    setProblem(null);
    work.catch((error: unknown) => setProblem(explainError(error))).finally(tokens.reload);
  };
  const make = async (): Promise<void> => {
    setMade(
      await answered(
        client.POST("/api/tokens/", { body: { name: name.trim(), stream: stream === "" ? null : stream } }),
      ),
    );
    setName("");
  };
  const columns: readonly Column<Token>[] = [
    { label: "Name", cell: (token) => token.name },
    { label: "May", cell: (token) => (token.stream === null ? "what you may" : `send to ${token.stream}`) },
    { label: "Made", short: "made", cell: (token) => ago(token.created_at, now) },
    {
      label: "Used",
      short: "used",
      cell: ({ used_at }) => (used_at === null ? "never" : ago(used_at, now)),
    },
    {
      label: "Ends",
      short: "ends",
      cell: ({ expires_at }) => (expires_at === null ? "when revoked" : `${instant(expires_at)} UTC`),
    },
    {
      label: "Revoke",
      hidden: true,
      cell: (token) => (
        <Button
          small
          kind="danger"
          aria-label={`Revoke ${token.name}`}
          onClick={() => attempt(done(client.DELETE("/api/tokens/{id}/", at({ id: token.id }))))}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <section class="tokens">
      <p class="muted">
        A program that sends <code>Authorization: Bearer …</code> acts for you. The <code>millrace</code>{" "}
        command reads it from <code>MILLRACE_TOKEN</code>.
      </p>
      <ProblemLine text={problem} />
      <form class="form" aria-label="Make a token" onSubmit={submits(() => attempt(make()))}>
        <div class="form-row">
          <TextField
            label="Name"
            value={name}
            maxLength={100}
            required
            placeholder="laptop"
            onValue={setName}
          />
          <SelectField
            label="May"
            value={stream}
            options={[
              ["", "do what I may"],
              ...(streams.value ?? [])
                .filter((one) => one.can_edit)
                .map((one) => [one.name, `only send tuples to ${one.name}`] as const),
            ]}
            onValue={setStream}
          />
          <Button type="submit" kind="primary" disabled={name.trim() === ""}>
            Make a token
          </Button>
        </div>
      </form>
      {made !== null && (
        <p class="notice" role="status">
          {made.name}: <code class="secret">{made.secret}</code>{" "}
          <Button small onClick={() => attempt(navigator.clipboard.writeText(made.secret))}>
            Copy
          </Button>{" "}
          It is shown only once.
        </p>
      )}
      <ProblemLine text={tokens.problem} />
      {tokens.value?.length === 0 && <p class="empty">You have no token yet.</p>}
      {tokens.value !== null && tokens.value.length > 0 && (
        <Table columns={columns} rows={tokens.value} rowKey={({ id }) => id} />
      )}
      <QuotaLine />
    </section>
  );
}
