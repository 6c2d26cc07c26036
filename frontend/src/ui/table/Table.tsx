import type { ComponentChildren, JSX } from "preact";

/** One column of a table: its heading, and what its cells hold. */
export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand to the right; what is wide is left out on a narrow page. */
  readonly kind?: "number" | "wide" | undefined;
  /** What the heading means. */
  readonly title?: string | undefined;
  /** Further classes of the cells. */
  readonly class?: string;
  readonly cellTitle?: (row: Row) => string;
  /** What stands before the cell where rows are blocks, on a narrow page; numbers have their label. */
  readonly short?: string;
  /** Its cells name the rows. */
  readonly names?: true;
  /** The heading is read by screen readers only: the cells speak for themselves. */
  readonly hidden?: true;
}

export interface TableProps<Row> {
  /** Classes of the table besides `list`: `stack` draws rows as blocks on a narrow page. */
  readonly class?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** By their places unless something names them. */
  readonly rowKey?: (row: Row) => string | number;
}

/** A table of documents, one row each. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { columns } = props;
  return (
    <table class={`list ${props.class ?? "stack"}`}>
      <thead>
        <tr>
          {columns.map(({ label, kind, title, hidden }) => (
            <th key={label} scope="col" class={kind} title={title}>
              {hidden ? <span class="visually-hidden">{label}</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <TableBody {...props} />
    </table>
  );
}

/** The rows alone, below headings that somebody else draws. */
export function TableBody<Row>({ columns, rows, rowKey }: TableProps<Row>): JSX.Element {
  return (
    <tbody>
      {rows.map((row, place) => (
        <tr key={rowKey?.(row) ?? place}>
          {columns.map((column, i) => (
            <Cell key={i} column={column} row={row} />
          ))}
        </tr>
      ))}
    </tbody>
  );
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }): JSX.Element {
  const { kind, class: className, short, label } = column;
  if (column.names) return <th scope="row">{column.cell(row)}</th>;
  return (
    <td
      class={[kind, className].filter((name) => name !== undefined).join(" ")}
      title={column.cellTitle?.(row)}
      data-label={short ?? (kind === "number" ? label.toLowerCase() : undefined)}
    >
      {column.cell(row)}
    </td>
  );
}
