import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { chooseRows, type Value } from "./chosenRows";
import { ScrollArea } from "./ScrollArea";

/**
 * Rows drawn at first, and more with every press of the button: a plan of 300 stores stays quick to follow.
 */
const STEP = 50;
/** Fewer rows are read at a glance: they need no filter. */
const FILTER_ABOVE = 12;

export interface Column<Row> {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly title?: string;
  readonly number?: boolean;
  /** Sorted from the largest on at first; what is aligned as a number is anyway. */
  readonly largestFirst?: boolean;
  /** What it is sorted by; without it the column cannot be sorted. */
  readonly value?: (row: Row) => Value;
}

interface Props<Row> {
  readonly caption: string;
  /** Classes of the table besides `list`. */
  readonly class?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** What the filter looks through. */
  readonly text: (row: Row) => string;
  readonly children: (row: Row) => JSX.Element;
}

/** A table that is sorted by its headers, filtered by a word, and drawn as far as somebody wants to read. */
export function LongTable<Row>({
  caption,
  columns,
  rows,
  text,
  children,
  ...props
}: Props<Row>): JSX.Element {
  const [sought, setSought] = useState("");
  const [order, setOrder] = useState<{ by: string | null; falling: boolean }>({ by: null, falling: true });
  const [most, setMost] = useState(STEP);
  const values = Object.fromEntries(
    columns.flatMap((column) => (column.value === undefined ? [] : [[column.key, column.value]])),
  );
  const chosen = chooseRows(rows, { sought, most, ...order }, values, text);
  // Numbers are asked for from the largest on, names from the first on; the third press gives the plan's
  // order back.
  const turn = ({ key, number, largestFirst }: Column<Row>): void =>
    setOrder((before) => {
      const first = largestFirst ?? number === true;
      if (before.by !== key) return { by: key, falling: first };
      return before.falling === first ? { by: key, falling: !first } : { by: null, falling: true };
    });
  const sortOf = (column: Column<Row>): "ascending" | "descending" | "none" =>
    order.by !== column.key ? "none" : order.falling ? "descending" : "ascending";
  return (
    <>
      {rows.length > FILTER_ABOVE && (
        <div class="toolbar table-tools">
          <input
            type="search"
            class="search"
            value={sought}
            aria-label={`Filter ${caption.toLowerCase()}`}
            placeholder={`Filter ${caption.toLowerCase()}`}
            onInput={(event) => setSought(event.currentTarget.value)}
          />
          <span class="muted small" role="status">
            {chosen.rows.length < chosen.found
              ? `${chosen.rows.length} of ${chosen.found} shown`
              : sought === ""
                ? ""
                : `${chosen.found} of ${rows.length}`}
          </span>
        </div>
      )}
      <ScrollArea label={caption}>
        <table class={`list ${props.class ?? ""}`}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  class={column.number === true ? "number" : ""}
                  title={column.title}
                  {...(column.value === undefined ? {} : { "aria-sort": sortOf(column) })}
                >
                  {column.value === undefined ? (
                    column.label
                  ) : (
                    <button type="button" class="sort" onClick={() => turn(column)}>
                      {column.label}
                      <span class="direction" aria-hidden="true">
                        {{ ascending: "▲", descending: "▼", none: "" }[sortOf(column)]}
                      </span>
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{chosen.rows.map((row) => children(row))}</tbody>
        </table>
      </ScrollArea>
      {chosen.rows.length < chosen.found && (
        <button type="button" class="button small" onClick={() => setMost(most + STEP)}>
          Show {Math.min(STEP, chosen.found - chosen.rows.length)} more of {chosen.found}
        </button>
      )}
    </>
  );
}
