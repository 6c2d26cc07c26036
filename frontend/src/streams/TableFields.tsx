import type { JSX } from "preact";
import { SelectField } from "../ui/fields";
import { columnsOf, keyColumns, type StreamFields } from "./streamFields";

interface Props {
  readonly fields: StreamFields;
  readonly set: (changes: Partial<StreamFields>) => void;
}

/** Whether tuples are events or versions of a table, and then of what. */
export function TableFields({ fields, set }: Props): JSX.Element {
  const keys = keyColumns(fields);
  const flags = columnsOf(fields, ["boolean"]);
  return (
    <>
      <SelectField
        label="What a tuple is"
        value={fields.kind}
        options={[
          ["stream", "an event"],
          ["table", "a version of a table's row, in force from its event time on"],
        ]}
        onValue={(kind) => set({ kind: kind === "table" ? "table" : "stream" })}
      />
      {fields.kind === "table" && (
        <>
          <fieldset>
            <legend>Key: the columns that say of which row</legend>
            {keys.length === 0 && <p class="empty">Name a column that is neither event time nor a double.</p>}
            {keys.map((name) => (
              <label key={name} class="inline mono">
                <input
                  type="checkbox"
                  checked={fields.key.includes(name)}
                  onChange={(event) =>
                    set({
                      key: event.currentTarget.checked
                        ? [...fields.key, name]
                        : fields.key.filter((one) => one !== name),
                    })
                  }
                />{" "}
                {name}
              </label>
            ))}
          </fieldset>
          <SelectField
            label="Deleted where this is true"
            value={fields.deleted}
            options={[["", "nothing is ever deleted"], ...flags]}
            onValue={(deleted) => set({ deleted })}
          />
        </>
      )}
    </>
  );
}
