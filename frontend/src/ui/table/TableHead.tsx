import type { JSX } from "preact";

interface Heading {
  readonly label: string;
  readonly class?: "number" | "wide";
  readonly title?: string;
  /** Read by screen readers only: the column's cells speak for themselves. */
  readonly hidden?: true;
}

/** A table's row of headings, plain ones as their text. */
export function TableHead({ columns }: { readonly columns: readonly (string | Heading)[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const heading: Heading = typeof column === "string" ? { label: column } : column;
          return (
            <th key={heading.label} scope="col" class={heading.class} title={heading.title}>
              {heading.hidden ? <span class="visually-hidden">{heading.label}</span> : heading.label}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
