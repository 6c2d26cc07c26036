/** Which rows of a long table are shown, and in which order. Pure. */

export type Value = string | number | null;

export interface Choice<Row> {
  /** Rows without this in their text are left out. */
  readonly sought: string;
  /** What a row is sorted by, unknown ones (null) last in both directions; null keeps the given order. */
  readonly by: ((row: Row) => Value) | null;
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

/** `chooseRows([1, 3, 2], { sought: "", by: (row) => row, falling: true, most: 2 }, String)` has 3, 2 of 3. */
export function chooseRows<Row>(
  rows: readonly Row[],
  { sought, by, falling, most }: Choice<Row>,
  text: (row: Row) => string,
): Chosen<Row> {
  const word = sought.trim().toLowerCase();
  const found = word === "" ? rows : rows.filter((row) => text(row).toLowerCase().includes(word));
  if (by === null) return { rows: found.slice(0, most), found: found.length };
  const direction = falling ? -1 : 1;
  const sorted = found
    .map((row) => ({ row, value: by(row) }))
    .sort((a, b) =>
      a.value === null || b.value === null
        ? Number(a.value === null) - Number(b.value === null)
        : direction * compare(a.value, b.value),
    );
  return { rows: sorted.slice(0, most).map(({ row }) => row), found: found.length };
}
