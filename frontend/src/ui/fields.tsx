/** Labelled fields of forms. */
import type { JSX } from "preact";

interface Valued {
  readonly value: string;
  readonly onValue: (value: string) => void;
}

interface TextFieldProps extends Valued {
  readonly label: string;
  /** What the label's title says. */
  readonly help?: string;
  readonly class?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly inputMode?: "numeric" | "decimal";
  readonly autocomplete?: "off";
  readonly placeholder?: string;
}

export function TextField({ label, help, onValue, ...input }: TextFieldProps): JSX.Element {
  return (
    <label class="field" title={help}>
      <span>{label}</span>
      <input type="text" {...input} onInput={(event) => onValue(event.currentTarget.value)} />
    </label>
  );
}

interface SelectProps extends Valued {
  /** A value that is shown as it is, or one with its text. */
  readonly options: readonly (string | readonly [value: string, text: string])[];
  readonly id?: string;
  readonly "aria-label"?: string;
}

export function Select({ options, onValue, ...select }: SelectProps): JSX.Element {
  return (
    <select {...select} onChange={(event) => onValue(event.currentTarget.value)}>
      {options.map((option) => {
        const [value, text] = typeof option === "string" ? [option, option] : option;
        return (
          <option key={value} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

export function SelectField({ label, ...select }: SelectProps & { readonly label: string }): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <Select {...select} />
    </label>
  );
}

/** A field that narrows what stands below it. */
export function SearchField({
  label,
  placeholder = label,
  value,
  onValue,
}: Valued & {
  readonly label: string;
  readonly placeholder?: string;
}): JSX.Element {
  return (
    <input
      type="search"
      class="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
}

/** What a form does on submission, staying on its page. */
export function submits(action: () => void): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    action();
  };
}
