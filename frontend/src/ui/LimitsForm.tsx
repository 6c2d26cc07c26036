import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./Button";
import { submits, TextField } from "./fields";
import { changedLimits, type Limits, typedOf } from "./limits";
import { ProblemLine } from "./ProblemLine";
import { useRequest } from "./useRequest";

interface Props {
  /** What the form is called. */
  readonly label: string;
  /** The limits' names, each with what its field says. */
  readonly fields: readonly (readonly [name: string, text: string])[];
  /** Those that are set. */
  readonly limits: Limits;
  /** What holds where nothing is set, as the fields say. */
  readonly otherwise: string;
  readonly save: (changed: Limits) => Promise<unknown>;
  readonly onSaved: () => void;
}

/** Some limits, each a number or nothing. */
export function LimitsForm({ label, fields, limits, otherwise, save, onSaved }: Props): JSX.Element {
  const [typed, setTyped] = useState(typedOf(limits));
  const [saved, setSaved] = useState(false);
  const { busy, problem, send } = useRequest();
  const changed = changedLimits(limits, typed);
  const isSame = changed.problem === null && Object.keys(changed.limits).length === 0;
  return (
    <form
      class="form"
      aria-label={label}
      onSubmit={submits(() =>
        send(save(changed.limits), () => {
          setSaved(true);
          onSaved();
        }),
      )}
    >
      <div class="form-row">
        {fields.map(([name, text]) => (
          <TextField
            key={name}
            label={text}
            inputMode="numeric"
            placeholder={otherwise}
            value={typed[name] ?? ""}
            onValue={(value) => {
              setSaved(false);
              setTyped({ ...typed, [name]: value });
            }}
          />
        ))}
        <Button type="submit" disabled={busy || isSame || changed.problem !== null}>
          Set
        </Button>
        {saved && isSame && (
          <span class="muted" role="status">
            Set.
          </span>
        )}
      </div>
      <ProblemLine text={changed.problem ?? problem} />
    </form>
  );
}
