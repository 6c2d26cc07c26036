import type { JSX } from "preact";
import { cell } from "../../format/quantities";
import { ScrollArea } from "./ScrollArea";

interface Props {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly keys?: readonly string[];
  readonly caption: string;
  /** Called with the key of a row that somebody asks about; `picked` is the one asked about last. */
  readonly onPick?: ((key: string) => void) | undefined;
  readonly picked?: string | null;
}

const NUMERIC = /^(?:bigint|int|double|decimal\(.*\))$/;

/** Rows of a stream or a query, as they are. */
export function RowsTable({ columns, rows, keys, caption, onPick, picked }: Props): JSX.Element {
  return (
    <ScrollArea label={caption}>
      <table class="rows">
        <thead>
          <tr>
            {onPick !== undefined && <th scope="col">Path</th>}
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                class={NUMERIC.test(column.type) ? "number" : ""}
                title={column.type}
              >
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr
              key={keys?.[i] ?? i}
              class={picked !== undefined && picked !== null && picked === keys?.[i] ? "picked" : ""}
            >
              {onPick !== undefined && (
                <td>
                  <button
                    type="button"
                    class="link"
                    aria-label={`How row ${i + 1} came about`}
                    aria-pressed={picked === keys?.[i]}
                    onClick={() => onPick(keys?.[i] ?? "")}
                  >
                    ↶
                  </button>
                </td>
              )}
              {columns.map((column) => {
                const value = row[column.name];
                const missing = value === null || value === undefined;
                return (
                  <td
                    key={column.name}
                    class={`${NUMERIC.test(column.type) ? "number" : ""} ${missing ? "missing" : ""}`}
                  >
                    {cell(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
