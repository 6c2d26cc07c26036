import type { JSX } from "preact";
import { count, instant, milliseconds } from "../../format/quantities";
import type { Snapshot } from "../../live/messages";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";

type ShapePoint = Snapshot["shapes"][number];

const COLUMNS: readonly Column<ShapePoint>[] = [
  { label: "Since (UTC)", class: "instant", cell: (point) => instant(point.at) },
  { label: "From batch", kind: "number", cell: (point) => point.batch },
  {
    label: "Columns by rows",
    cell: ({ stores }) =>
      Object.entries(stores)
        .map(([stream, { before, after }]) => `${stream} ${before} → ${after}`)
        .join(", "),
  },
  {
    label: "Moved",
    kind: "number",
    title: "stored tuples copied into other tasks",
    cell: (point) => count(point.moved),
  },
  {
    label: "Pause",
    kind: "number",
    title: "how long the batch waited for it",
    cell: (point) => milliseconds(point.seconds * 1000),
  },
];

/** Grids that took another shape by what their stores receive, newest first; nothing where none did. */
export function ShapeTable({ shapes }: { shapes: readonly ShapePoint[] }): JSX.Element | null {
  if (shapes.length === 0) return null;
  return (
    <>
      <h3>Shapes of join matrices</h3>
      <ScrollArea label="Shapes of join matrices">
        <Table columns={COLUMNS} rows={[...shapes].reverse()} rowKey={({ batch }) => batch} />
      </ScrollArea>
    </>
  );
}
