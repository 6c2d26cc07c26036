import type { JSX } from "preact";
import { count, plural, UNKNOWN } from "../../format/quantities";
import type { River, RiverNode } from "../../plan/river/river";
import { LongTable, type SortedColumn } from "../../ui/table/LongTable";

const KINDS = { stream: "stream", store: "store", step: "step", hold: "waits", query: "query" } as const;

interface Props {
  readonly river: River;
  /** A cost as people read it. */
  readonly costText: (cost: number | null) => string;
}

/** The river's places as rows: the same for those who do not see it, and for exact numbers. */
export function RiverTable({ river, costText }: Props): JSX.Element {
  const columns: readonly SortedColumn<RiverNode>[] = [
    { label: "Place", value: (node) => node.label, cell: (node) => node.label },
    { label: "Kind", value: (node) => KINDS[node.kind], cell: (node) => KINDS[node.kind] },
    {
      label: "Own cost",
      kind: "number",
      title: "of this place alone, by the plan's statistics",
      value: (node) => node.cost,
      cell: (node) => (node.cost === null ? UNKNOWN : costText(node.cost)),
    },
    {
      label: "Queries",
      kind: "number",
      title: "that need it",
      value: (node) => node.queries.size,
      cell: (node) => count(node.queries.size),
    },
    { label: "Which", kind: "wide", cell: (node) => namesOf(node.queries) },
  ];
  return (
    <LongTable
      caption="Places of the river"
      columns={columns}
      rows={river.nodes}
      rowKey={(node) => node.key}
      text={(node) => [node.label, node.kind, ...node.queries].join("\n")}
    />
  );
}

const NAMED = 3;

/** `namesOf(new Set(["b", "a"]))` is "a, b"; of many the first few and how many more. */
export function namesOf(queries: ReadonlySet<string>): string {
  const names = [...queries].sort();
  const more = names.length - NAMED;
  const named = names.slice(0, NAMED).join(", ");
  return more > 0 ? `${named} and ${plural(more, "other")}` : named;
}
