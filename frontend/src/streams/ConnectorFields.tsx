import type { JSX } from "preact";
import type { Connector } from "../api/documents";
import { matters, type Setting, settingsOf, typedOf } from "./connectorForm";
import { columnsOf, type StreamFields } from "./streamForm";

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
  const choose = (name: string): void => {
    const connector = connectors.find((one) => one.name === name);
    set({ connector: name, settings: connector === undefined ? {} : typedOf(connector, null) });
  };
  const settings = chosen === undefined ? [] : settingsOf(chosen);
  return (
    <fieldset disabled={fixed}>
      <legend>Where the tuples come from</legend>
      <label class="field">
        <span>Tuples come from</span>
        <select value={fields.connector} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">producers, who send them here</option>
          {connectors.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {chosen !== undefined && chosen.missing !== null && (
        <p class="problem-line">This needs {chosen.missing}.</p>
      )}
      <div class="form-row">
        {settings
          .filter((setting) => matters(setting, fields.settings))
          .map((setting) => (
            <label key={setting.name} class="field" title={setting.help} for={`setting-${setting.name}`}>
              <span>{setting.label}</span>
              <Control
                id={`setting-${setting.name}`}
                setting={setting}
                value={fields.settings[setting.name] ?? ""}
                columns={columnsOf(fields, setting.columnTypes ?? [])}
                onValue={(value) => set({ settings: { ...fields.settings, [setting.name]: value } })}
              />
            </label>
          ))}
      </div>
    </fieldset>
  );
}

interface ControlProps {
  readonly id: string;
  readonly setting: Setting;
  readonly value: string;
  readonly columns: readonly string[];
  readonly onValue: (value: string) => void;
}

function Control({ id, setting, value, columns, onValue }: ControlProps): JSX.Element {
  const choices =
    setting.columnTypes === null
      ? setting.choices
      : [{ value: "", label: "none" }, ...columns.map((name) => ({ value: name, label: name }))];
  if (choices.length > 0) {
    return (
      <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    );
  }
  if (setting.lines !== null) {
    return (
      <textarea
        id={id}
        class="mono"
        rows={setting.lines}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    );
  }
  return (
    <input
      id={id}
      type="text"
      class={setting.type === "string" ? "mono" : ""}
      inputMode={setting.type === "string" ? "text" : "numeric"}
      value={value}
      maxLength={setting.maxLength}
      placeholder={setting.nullable ? "none" : ""}
      autocomplete="off"
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
}
