import type { JSX } from "preact";
import type { Connector } from "../api/documents";
import { SelectField } from "../ui/fields";
import { type Typed, typedOf } from "../ui/settings/described";
import { SettingsFields } from "../ui/settings/SettingsFields";
import { RegistryColumns } from "./RegistryColumns";
import { hasRegistry } from "./registryColumns";
import { columnsOf, firstChoices, type StreamFields } from "./streamFields";

interface Props {
  readonly connectors: readonly Connector[];
  readonly fields: StreamFields;
  readonly set: (changes: Partial<StreamFields>) => void;
  /** True while queries read the stream: where its tuples come from stays. */
  readonly fixed: boolean;
}

/** The part of a stream's form that says what brings its tuples. */
export function ConnectorFields({ connectors, fields, set, fixed }: Props): JSX.Element {
  const chosen = connectors.find(({ name }) => name === fields.connector);
  const firsts = firstChoices(connectors, fields.connector);
  const first = firsts.find(({ name }) => name === fields.first);
  const initial = (name: string): Typed => {
    const connector = connectors.find((one) => one.name === name);
    return connector === undefined ? {} : typedOf(connector.settings, null);
  };
  const choose = (name: string): void => {
    const goesOn = firstChoices(connectors, name).some((one) => one.name === fields.first);
    const without = goesOn ? {} : { first: "", firstSettings: {} };
    set({ connector: name, settings: initial(name), ...without });
  };
  return (
    <fieldset disabled={fixed}>
      <legend>Where the tuples come from</legend>
      <SelectField
        label="Tuples come from"
        value={fields.connector}
        options={[
          ["", "producers, who send them here"],
          ...connectors
            .filter(({ precedes }) => precedes === null)
            .map(({ name, title }) => [name, title] as const),
        ]}
        onValue={choose}
      />
      {chosen !== undefined && chosen.missing !== null && (
        <p class="problem-line">This needs {chosen.missing}.</p>
      )}
      {chosen !== undefined && (
        <SettingsFields
          described={chosen.settings}
          typed={fields.settings}
          onTyped={(settings) => set({ settings })}
          columnsOf={(types) => columnsOf(fields, types)}
        />
      )}
      {hasRegistry(fields) && <RegistryColumns fields={fields} set={set} />}
      {firsts.length > 0 && (
        <SelectField
          label="Before that"
          value={fields.first}
          options={[["", "nothing"], ...firsts.map(({ name, title }) => [name, title] as const)]}
          onValue={(name) => set({ first: name, firstSettings: initial(name) })}
        />
      )}
      {first !== undefined && first.missing !== null && (
        <p class="problem-line">This needs {first.missing}.</p>
      )}
      {first !== undefined && (
        <SettingsFields
          described={first.settings}
          typed={fields.firstSettings}
          onTyped={(firstSettings) => set({ firstSettings })}
          columnsOf={(types) => columnsOf(fields, types)}
        />
      )}
    </fieldset>
  );
}
