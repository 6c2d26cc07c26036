import type { JSX } from "preact";
import type { NewestResult } from "../api/documents";
import { cell, instant } from "../format/quantities";
import { ScrollArea } from "../ui/table/ScrollArea";
import { type Column, Table } from "../ui/table/Table";

/** The newest result of each query, in the queries' order: rows stay where they are when results come. */
export function NewestResults({ results }: { readonly results: readonly NewestResult[] }): JSX.Element {
  return (
    <>
      <div class="toolbar">
        <h2>Newest results</h2>
        <span class="grow" />
        <a href="/queries/">All queries</a>
      </div>
      <ScrollArea label="Newest results">
        <Table columns={COLUMNS} rows={results} rowKey={({ query }) => query} />
      </ScrollArea>
    </>
  );
}

const COLUMNS: readonly Column<NewestResult>[] = [
  {
    label: "Query",
    cell: ({ query, name }) => (
      <a class="row-link" href={`/queries/${query}/`}>
        {name}
      </a>
    ),
  },
  { label: "Topology", kind: "wide", cell: ({ topology }) => topology },
  {
    label: "Newest result",
    class: "newest-result",
    cellTitle: ({ row }) => textOf(row),
    cell: ({ row }) =>
      row === null ? (
        <span class="muted">no result yet</span>
      ) : (
        Object.entries(row).map(([name, value]) => (
          <span key={name}>
            <span class="muted">{name}</span> <span class="mono">{cell(value)}</span>{" "}
          </span>
        ))
      ),
  },
  {
    label: "Committed (UTC, wall time)",
    short: "committed",
    class: "instant",
    cell: ({ at }) => instant(at),
  },
];

function textOf(row: NewestResult["row"]): string {
  return Object.entries(row ?? {})
    .map(([name, value]) => `${name} ${cell(value)}`)
    .join(", ");
}
