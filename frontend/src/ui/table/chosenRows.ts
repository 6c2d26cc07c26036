/** Which rows of a long table are shown, and in which order. Pure. */

export type Value = string | number | null;

export interface Choice {
  /** Rows without this in their text are left out. */
  readonly sought: string;
  /** A column's key; null keeps the given order. */
  readonly by: string | null;
  readonly falling: boolean;
  /** Rows shown at most. */
  readonly most: number;
}

export interface Chosen<Row> {
  readonly rows: readonly Row[];
  /** How many there are, shown or not, that contain what is sought. */
  readonly found: number;
}

function compare(a: Value, b: Value): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}

/**
 * @example chooseRows([1, 3, 2], { sought: "", by: "n", falling: true, most: 2 }, { n: (row) => row },
 *   String) has the rows 3, 2 of 3 found
 * @param columns a row's value by the column's key; unknown ones (null) come last, whatever the direction
 */
export function chooseRows<Row>(
  rows: readonly Row[],
  choice: Choice,
  columns: Readonly<Record<string, (row: Row) => Value>>,
  text: (row: Row) => string,
): Chosen<Row> {
  const word = choice.sought.trim().toLowerCase();
  const found = word === "" ? rows : rows.filter((row) => text(row).toLowerCase().includes(word));
  const value = choice.by === null ? undefined : columns[choice.by];
  if (value === undefined) return { rows: found.slice(0, choice.most), found: found.length };
  const direction = choice.falling ? -1 : 1;
  const sorted = found
    .map((row) => ({ row, value: value(row) }))
    .sort((a, b) =>
      a.value === null || b.value === null
        ? Number(a.value === null) - Number(b.value === null)
        : direction * compare(a.value, b.value),
    );
  return { rows: sorted.slice(0, choice.most).map(({ row }) => row), found: found.length };
}
