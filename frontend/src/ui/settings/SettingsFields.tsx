import type { JSX } from "preact";
import { type Described, matters, type Setting, settingsOf, type Typed } from "./described";

interface Props {
  readonly described: Described;
  readonly typed: Typed;
  readonly onTyped: (typed: Typed) => void;
  /** The columns of some types, for a setting that names one. */
  readonly columnsOf?: (types: readonly string[]) => readonly string[];
  /** Before the ids of the fields, where a page has several such forms. */
  readonly prefix?: string;
}

/** A field for every setting that matters with what stands in the others. */
export function SettingsFields({
  described,
  typed,
  onTyped,
  columnsOf,
  prefix = "setting",
}: Props): JSX.Element {
  return (
    <div class="form-row">
      {settingsOf(described)
        .filter((setting) => matters(setting, typed))
        .map((setting) => {
          const id = `${prefix}-${setting.name}`;
          return (
            <label key={setting.name} class="field" title={setting.help} for={id}>
              <span>{setting.label}</span>
              <Control
                id={id}
                setting={setting}
                value={typed[setting.name] ?? ""}
                columns={columnsOf?.(setting.columnTypes ?? []) ?? []}
                onValue={(value) => onTyped({ ...typed, [setting.name]: value })}
              />
            </label>
          );
        })}
    </div>
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
