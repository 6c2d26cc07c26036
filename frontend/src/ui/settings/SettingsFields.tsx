import type { JSX } from "preact";
import { Select } from "../fields";
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
      ? setting.choices.map((choice) => [choice.value, choice.label] as const)
      : [["", "none"] as const, ...columns];
  if (choices.length > 0) return <Select id={id} value={value} options={choices} onValue={onValue} />;
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
