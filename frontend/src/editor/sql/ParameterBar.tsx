import type { JSX } from "preact";
import { parametersOf, placeOfDeclaration, undeclared } from "./parameters";

interface Props {
  readonly sql: string;
  readonly readOnly: boolean;
  /** Replace a part of the text, as one undoable change. */
  readonly onReplace: (from: number, to: number, text: string) => void;
}

/** A field for every parameter of the text; what is written there is written into the text. */
export function ParameterBar({ sql, readOnly, onReplace }: Props): JSX.Element | null {
  const declared = parametersOf(sql);
  const missing = undeclared(sql);
  if (declared.length + missing.length === 0) return null;
  return (
    <fieldset class="group toolbar parameters" aria-label="Parameters">
      <span class="muted">Parameters</span>
      {declared.map((parameter) => (
        <label key={parameter.name} class="inline">
          <span class="mono">:{parameter.name}</span>
          <input
            type="text"
            class="mono"
            size={10}
            value={parameter.value}
            readOnly={readOnly}
            spellcheck={false}
            onInput={(event) => {
              const { value } = event.currentTarget;
              // Directly behind "=" a space keeps the line readable.
              const gap = sql[parameter.from - 1] === "=" ? " " : "";
              onReplace(parameter.from, parameter.to, `${gap}${value.replace(/[\r\n]/g, " ").trim()}`);
            }}
          />
        </label>
      ))}
      {missing.map((name) => (
        <button
          key={name}
          type="button"
          class="button small"
          disabled={readOnly}
          onClick={() => {
            const place = placeOfDeclaration(sql);
            onReplace(place, place, `${place > 0 && sql[place - 1] !== "\n" ? "\n" : ""}-- :${name} = 0\n`);
          }}
        >
          Declare :{name}
        </button>
      ))}
    </fieldset>
  );
}
