import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../Button";
import { SearchField } from "../fields";
import { chooseRows, type Value } from "./chosenRows";
import { ScrollArea } from "./ScrollArea";
import { type Column, TableBody, type TableProps } from "./Table";

/**
 * Rows drawn at first, and more with every press of the button: a plan of 300 stores stays quick to follow.
 */
const STEP = 50;
/** Fewer rows are read at a glance: they need no filter. */
const FILTER_ABOVE = 12;

/** Which column the rows are sorted by, by its place; null keeps the given order. */
interface Order {
  readonly by: number | null;
  readonly falling: boolean;
}

const GIVEN: Order = { by: null, falling: true };

export interface SortedColumn<Row> extends Column<Row> {
  /** Sorted from the largest on at first; what is aligned as a number is anyway. */
  readonly largestFirst?: true;
  /** What it is sorted by; without it the column cannot be sorted. */
  readonly value?: (row: Row) => Value;
}

interface Props<Row> extends TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly SortedColumn<Row>[];
  /** What the filter looks through. */
  readonly text: (row: Row) => string;
}

/** A table that is sorted by its headers, filtered by a word, and drawn as far as somebody wants to read. */
export function LongTable<Row>({ caption, text, ...table }: Props<Row>): JSX.Element {
  const { columns, rows } = table;
  const [sought, setSought] = useState("");
  const [order, setOrder] = useState<Order>(GIVEN);
  const [most, setMost] = useState(STEP);
  const by = order.by === null ? null : (columns[order.by]?.value ?? null);
  const chosen = chooseRows(rows, { sought, most, by, falling: order.falling }, text);
  // Numbers are asked for from the largest on, names from the first on; the third press gives the plan's
  // order back.
  const turn = ({ kind, largestFirst }: SortedColumn<Row>, place: number): void =>
    setOrder((before) => {
      const first = largestFirst ?? kind === "number";
      if (before.by !== place) return { by: place, falling: first };
      return before.falling === first ? { by: place, falling: !first } : GIVEN;
    });
  const sortOf = (place: number): "ascending" | "descending" | "none" =>
    order.by !== place ? "none" : order.falling ? "descending" : "ascending";
  return (
    <>
      {rows.length > FILTER_ABOVE && (
        <div class="toolbar table-tools">
          <SearchField label={`Filter ${caption.toLowerCase()}`} value={sought} onValue={setSought} />
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
        <table class={`list ${table.class ?? "stack"}`}>
          <thead>
            <tr>
              {columns.map((column, place) => (
                <th
                  key={place}
                  scope="col"
                  class={column.kind}
                  title={column.title}
                  {...(column.value === undefined ? {} : { "aria-sort": sortOf(place) })}
                >
                  {column.value === undefined ? (
                    column.label
                  ) : (
                    <button type="button" class="sort" onClick={() => turn(column, place)}>
                      {column.label}
                      <span class="direction" aria-hidden="true">
                        {{ ascending: "▲", descending: "▼", none: "" }[sortOf(place)]}
                      </span>
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <TableBody {...table} rows={chosen.rows} />
        </table>
      </ScrollArea>
      {chosen.rows.length < chosen.found && (
        <Button small onClick={() => setMost(most + STEP)}>
          Show {Math.min(STEP, chosen.found - chosen.rows.length)} more of {chosen.found}
        </Button>
      )}
    </>
  );
}
