import type { JSX } from "preact";
import type { TopologyJob } from "../api/documents";
import { answered, at, client } from "../api/request";
import { driftText } from "../ui/DriftLine";
import { typedOf } from "../ui/settings/described";
import { SettingsForm } from "../ui/settings/SettingsForm";

const PATH = "/api/topologies/{name}/job/";

interface Props {
  readonly topology: string;
  readonly operator: boolean;
  readonly onDone: () => void;
}

/** How the topology's job works, and a form to change it. */
export function JobForm({ topology, operator, onDone }: Props): JSX.Element {
  return (
    <SettingsForm
      label={`Job of ${topology}`}
      about="How the job works. A change takes effect when the job next starts."
      submit="Keep"
      kept="Kept."
      operator={operator}
      load={() => answered(client.GET(PATH, at({ name: topology })))}
      save={(settings) => {
        // Made from the same schema as the type.
        const body = { settings: settings as TopologyJob["settings"] };
        return answered(client.PUT(PATH, { ...at({ name: topology }), body }));
      }}
      note={noteOf}
      onDone={onDone}
    />
  );
}

/** What waits for a restart, and what a directory has otherwise. */
function noteOf(document: TopologyJob): string | null {
  const notes = [waiting(document), driftText("This", document.applied)];
  return notes.filter((note) => note !== null).join(" ") || null;
}

function waiting({ settings, running, described }: TopologyJob): string | null {
  if (running === null) return null;
  const [wanted, present] = [typedOf(described, settings), typedOf(described, running)];
  const same = Object.keys(wanted).every((name) => wanted[name] === present[name]);
  return same ? null : "The running process has other settings until it is restarted.";
}
