import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../Button";
import { submits } from "../fields";
import { Loading } from "../Loading";
import { ProblemLine } from "../ProblemLine";
import { useLoaded } from "../useLoaded";
import { useRequest } from "../useRequest";
import { type Described, documentOfSettings, faultsOfSettings, type Typed, typedOf } from "./described";
import { SettingsFields } from "./SettingsFields";

/** Settings as the API has them, with what may be chosen. */
export interface SettingsDocument {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly described: Described;
}

interface Props<T extends SettingsDocument> {
  /** What is set, for people: "Planner of flights". */
  readonly label: string;
  readonly about: string;
  readonly submit: string;
  /** What happens after it was kept. */
  readonly kept: string;
  readonly operator: boolean;
  readonly load: () => Promise<T>;
  readonly save: (settings: Record<string, unknown>) => Promise<T>;
  /** What else there is to say of the present settings. */
  readonly note?: (document: T) => string | null;
  readonly onDone: () => void;
}

/** A form of settings that are declared once, in the backend. */
export function SettingsForm<T extends SettingsDocument>(props: Props<T>): JSX.Element {
  const { value, problem } = useLoaded(props.load, null, props.label);
  if (value !== null) return <Fields {...props} loaded={value} />;
  return <Loading problem={problem} />;
}

function Fields<T extends SettingsDocument>({
  label,
  about,
  submit,
  kept,
  operator,
  save,
  note,
  onDone,
  loaded,
}: Props<T> & { readonly loaded: T }): JSX.Element {
  const [document, setDocument] = useState(loaded);
  const [changed, setChanged] = useState<Typed | null>(null);
  const [done, setDone] = useState(false);
  const { busy, problem, send } = useRequest();
  const present = typedOf(document.described, document.settings);
  const typed = changed ?? present;
  const faults = faultsOfSettings(document.described, typed);
  const same = Object.entries(present).every(([name, value]) => typed[name] === value);
  const keep = (): void => {
    setDone(false);
    send(save(documentOfSettings(document.described, typed)), (answer) => {
      setDocument(answer);
      setChanged(null);
      setDone(true);
      onDone();
    });
  };
  return (
    <form class="scale" aria-label={label} onSubmit={submits(keep)}>
      <p class="muted small">{about}</p>
      <fieldset
        class="group"
        disabled={!operator || busy}
        title={operator ? undefined : "Only operators may do this."}
      >
        <SettingsFields
          described={document.described}
          typed={typed}
          prefix={label.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}
          onTyped={(next) => {
            setChanged(next);
            setDone(false);
          }}
        />
      </fieldset>
      {[...faults, ...(problem === null ? [] : [problem])].map((text) => (
        <ProblemLine key={text} text={text} />
      ))}
      <p class="muted" role="status">
        {done && `${kept} `}
        {note?.(document)}
      </p>
      <Button type="submit" disabled={!operator || busy || same || faults.length > 0}>
        {submit}
      </Button>
    </form>
  );
}
