import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewToken, Token, TokenWrite } from "../api/documents";
import { explainError } from "../api/request";
import { ago, instant } from "../format/quantities";
import { Button } from "../ui/Button";
import { SelectField, submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";

interface Props {
  /** Who its programs act for, in a sentence: "you", or a service account's name. */
  readonly who: string;
  /** Where an example of a name comes from. */
  readonly example: string;
  /** The streams that a token may be made for alone. */
  readonly streams: readonly string[];
  readonly load: () => Promise<Token[]>;
  /** Absent: no other token may be made. */
  readonly make?: (token: TokenWrite) => Promise<NewToken>;
  readonly revoke: (token: Token) => Promise<unknown>;
}

/** An account's tokens: made, shown once, listed and revoked. */
export function TokenList({ who, example, streams, load, make, revoke }: Props): JSX.Element {
  const now = useNow();
  const tokens = useLoaded(load);
  const [made, setMade] = useState<NewToken | null>(null);
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
      tokens.reload();
    }
  };
  const columns: readonly Column<Token>[] = [
    { label: "Name", cell: (token) => token.name },
    { label: "May", cell: ({ stream }) => (stream === null ? `what ${who} may` : `send to ${stream}`) },
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
          onClick={() => attempt(revoke(token))}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <>
      <ProblemLine text={problem} />
      {make !== undefined && (
        <NewTokenForm
          who={who}
          example={example}
          streams={streams}
          onMake={(token) => attempt(make(token).then(setMade))}
        />
      )}
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
      {tokens.value?.length === 0 && (
        <p class="empty">{who === "you" ? "You have no token yet." : `${who} has no token yet.`}</p>
      )}
      {tokens.value !== null && tokens.value.length > 0 && (
        <Table columns={columns} rows={tokens.value} rowKey={({ id }) => id} />
      )}
    </>
  );
}

interface FormProps extends Pick<Props, "who" | "example" | "streams"> {
  /** Whether it is there now. */
  readonly onMake: (token: TokenWrite) => Promise<boolean>;
}

function NewTokenForm({ who, example, streams, onMake }: FormProps): JSX.Element {
  const [name, setName] = useState("");
  const [stream, setStream] = useState("");
  const make = async (): Promise<void> => {
    if (await onMake({ name: name.trim(), stream: stream === "" ? null : stream })) setName("");
  };
  return (
    <form
      class="form"
      aria-label={who === "you" ? "Make a token" : `Make a token of ${who}`}
      onSubmit={submits(make)}
    >
      <div class="form-row">
        <TextField
          label="Name"
          value={name}
          maxLength={100}
          required
          placeholder={example}
          onValue={setName}
        />
        <SelectField
          label="May"
          value={stream}
          options={[
            ["", `do what ${who === "you" ? "I" : who} may`],
            ...streams.map((one) => [one, `only send tuples to ${one}`] as const),
          ]}
          onValue={setStream}
        />
        <Button type="submit" kind="primary" disabled={name.trim() === ""}>
          Make a token
        </Button>
      </div>
    </form>
  );
}
