import type { JSX } from "preact";
import type { TopologyPlanner } from "../api/documents";
import { answered, at, client } from "../api/request";
import { SettingsForm } from "../ui/settings/SettingsForm";

const PATH = "/api/topologies/{name}/planner/";

interface Props {
  readonly topology: string;
  readonly operator: boolean;
  readonly onDone: () => void;
}

/** How the topology's queries are planned, and a form to change it. */
export function PlannerForm({ topology, operator, onDone }: Props): JSX.Element {
  return (
    <SettingsForm
      label={`Planner of ${topology}`}
      about={
        "How the queries are planned together. The topology is re-planned and switches between two " +
        "batches, without stopping; results stay the same. If settings admit no plan, the " +
        "topology says why and the present plan goes on."
      }
      submit="Plan anew"
      kept="Requested. The plan changes as soon as another one is found."
      operator={operator}
      load={() => answered(client.GET(PATH, at({ name: topology })))}
      save={(settings) => {
        // Made from the same schema as the type.
        const body = { settings: settings as TopologyPlanner["settings"] };
        return answered(client.PUT(PATH, { ...at({ name: topology }), body }));
      }}
      onDone={onDone}
    />
  );
}
