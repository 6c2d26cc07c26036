import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyPlanner } from "../api/documents";
import { setPlanner, topologyPlanner } from "../api/endpoints";
import { ProblemLine } from "../ui/ProblemLine";
import { SettingsFields } from "../ui/settings/SettingsFields";
import { documentOfSettings, faultsOfSettings, type Typed, typedOf } from "../ui/settings/settingsForm";
import { useLoaded } from "../ui/useLoaded";
import { useRequest } from "../ui/useRequest";

interface Props {
  readonly topology: string;
  readonly operator: boolean;
  readonly onDone: () => void;
}

/** How the topology's queries are planned, and a form to change it. */
export function PlannerForm(props: Props): JSX.Element {
  const { value, problem } = useLoaded(() => topologyPlanner(props.topology), undefined, props.topology);
  if (value !== null) return <Fields {...props} loaded={value} />;
  return problem === null ? <p class="muted">Loading…</p> : <ProblemLine text={problem} />;
}

function Fields({
  topology,
  operator,
  onDone,
  loaded,
}: Props & { readonly loaded: TopologyPlanner }): JSX.Element {
  const [planner, setKept] = useState(loaded);
  const [changed, setChanged] = useState<Typed | null>(null);
  const [asked, setAsked] = useState(false);
  const { busy, problem, send } = useRequest();
  const present = typedOf(planner.described, planner.settings);
  const typed = changed ?? present;
  const faults = faultsOfSettings(planner.described, typed);
  const same = Object.entries(present).every(([name, value]) => typed[name] === value);
  const keep = (): void => {
    setAsked(false);
    send(setPlanner(topology, documentOfSettings(planner.described, typed)), (kept) => {
      setKept(kept);
      setChanged(null);
      setAsked(true);
      onDone();
    });
  };
  return (
    <form
      class="scale"
      aria-label={`Planner of ${topology}`}
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <p class="muted small">
        How the queries are planned together. The topology is re-planned and switches between two batches,
        without stopping; results stay the same. Settings that admit no plan are refused with the reason, and
        the present plan goes on.
      </p>
      <fieldset disabled={!operator || busy} title={operator ? undefined : "Only operators may do this."}>
        <SettingsFields
          described={planner.described}
          typed={typed}
          prefix={`planner-${topology}`}
          onTyped={(next) => {
            setChanged(next);
            setAsked(false);
          }}
        />
      </fieldset>
      {faults.map((fault) => (
        <ProblemLine key={fault} text={fault} />
      ))}
      <ProblemLine text={problem} />
      {asked && (
        <p class="muted" role="status">
          Requested. The plan changes as soon as another one is found.
        </p>
      )}
      <button type="submit" class="button" disabled={!operator || busy || same || faults.length > 0}>
        Plan anew
      </button>
    </form>
  );
}
