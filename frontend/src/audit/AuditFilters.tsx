import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, client } from "../api/request";
import { Button } from "../ui/Button";
import { SearchField, SelectField, submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { ANYTHING, narrows, queryOf, type Wanted } from "./wanted";

const THROUGH = [
  ["", "anything"],
  ["page", "a page"],
  ["token", "a token"],
  ["admin", "the former admin site"],
  ["directory", "a directory"],
  ["command", "a command"],
  ["provider", "a provider of sign-in"],
  ["product", "Millrace itself"],
  ["unknown", "not known"],
] as const;

interface Props {
  readonly wanted: Wanted;
  readonly onWanted: (wanted: Wanted) => void;
}

/** What the entries are narrowed by: choices count at once, what is typed by Enter. */
export function AuditFilters({ wanted, onWanted }: Props): JSX.Element {
  const choices = useLoaded(() => answered(client.GET("/api/audit/choices/")));
  const [typed, setTyped] = useState(wanted);
  const [shown, setShown] = useState(wanted);
  if (shown !== wanted) {
    // Something else than this form has changed it.
    setShown(wanted);
    setTyped(wanted);
  }
  const type = (part: Partial<Wanted>): void => setTyped({ ...typed, ...part });
  const choose = (part: Partial<Wanted>): void => onWanted({ ...typed, ...part });
  const date = (name: "from" | "to", label: string): JSX.Element => (
    <label class="field">
      <span>{label}</span>
      <input
        type="date"
        value={typed[name]}
        onChange={(event) => choose({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  const download = new URLSearchParams(queryOf(wanted));
  return (
    <form class="form" aria-label="Narrow" onSubmit={submits(() => onWanted(typed))}>
      <div class="toolbar">
        <SearchField
          label="Find in names, details and changes"
          value={typed.text}
          onValue={(text) => type({ text })}
        />
        <Button type="submit">Find</Button>
        <Button disabled={!narrows(wanted) && !narrows(typed)} onClick={() => onWanted({ ...ANYTHING })}>
          All
        </Button>
        <a class="button" href={`/api/audit/download/?${download}`} download>
          Download as CSV
        </a>
      </div>
      <div class="form-row">
        <TextField label="Who" value={typed.who} maxLength={150} onValue={(who) => type({ who })} />
        <SelectField
          label="What"
          value={typed.verb}
          options={[["", "anything"], ...offered(choices.value?.verbs, typed.verb)]}
          onValue={(verb) => choose({ verb })}
        />
        <SelectField
          label="Of what"
          value={typed.kind}
          options={[["", "anything"], ...offered(choices.value?.kinds, typed.kind)]}
          onValue={(kind) => choose({ kind })}
        />
        <SelectField
          label="Through"
          value={typed.through}
          options={THROUGH}
          onValue={(through) => choose({ through })}
        />
        <TextField label="Team" value={typed.team} maxLength={63} onValue={(team) => type({ team })} />
        <TextField
          label="Topology"
          value={typed.topology}
          maxLength={63}
          onValue={(topology) => type({ topology })}
        />
        {date("from", "From (UTC)")}
        {date("to", "To")}
      </div>
      <ProblemLine text={choices.problem} />
    </form>
  );
}

/** What stands in the trail, and what is asked for though it does not. */
function offered(there: readonly string[] | undefined, asked: string): readonly string[] {
  return [...new Set([...(there ?? []), ...(asked === "" ? [] : [asked])])].sort();
}
