import type { JSX } from "preact";
import type { AuditEntry } from "../api/documents";
import { cell, instant } from "../format/quantities";
import { topologyPage } from "../shell/addresses";
import { AccountName } from "../ui/AccountName";
import { type Column, Table } from "../ui/table/Table";

const COLUMNS: readonly Column<AuditEntry>[] = [
  { label: "When (UTC)", class: "nowrap", cell: ({ at }) => instant(at) },
  { label: "Who", cell: (entry) => <Who entry={entry} /> },
  { label: "What", class: "verb", cell: ({ verb }) => verb },
  {
    label: "Of what",
    cell: ({ kind, name }) => (
      <>
        <span class="muted">{kind}</span> {name}
      </>
    ),
  },
  { label: "Team", short: "team", cell: ({ team }) => team },
  {
    label: "Topology",
    short: "topology",
    cell: ({ topology }) => (topology === "" ? "" : <a href={topologyPage(topology)}>{topology}</a>),
  },
  { label: "More", cell: (entry) => <More entry={entry} /> },
];

/** Entries of the audit trail, by the names of their time. */
export function AuditTable({ entries }: { readonly entries: readonly AuditEntry[] }): JSX.Element {
  return (
    <div class="table-scroll">
      <Table columns={COLUMNS} rows={entries} rowKey={({ id }) => id} />
    </div>
  );
}

function Who({ entry }: { readonly entry: AuditEntry }): JSX.Element {
  const { account, account_is_service, through, through_name } = entry;
  const by = [through, through_name].filter((word) => word !== "").join(" ");
  const isTold = through === "page" || through === "unknown" || through === "product";
  if (account === null) {
    if (through === "product") return <span class="muted">Millrace</span>;
    return <span class="muted">{isTold ? "nobody known" : by}</span>;
  }
  return (
    <>
      <AccountName name={account} isService={account_is_service === true} />
      {!isTold && <span class="muted"> by {by}</span>}
    </>
  );
}

/** Texts of queries are long: what changed is opened. */
function More({ entry }: { readonly entry: AuditEntry }): JSX.Element | null {
  const { detail, changes } = entry;
  if (changes.length === 0) return <>{detail}</>;
  return (
    <details>
      <summary>{detail === "" ? changes.map(({ field }) => field).join(", ") : detail}</summary>
      <dl class="changes">
        {changes.map(({ field, before, after }) => (
          <div key={field}>
            <dt>{field}</dt>
            <dd>
              {before !== null && <del>{cell(before)}</del>}
              {before !== null && after !== null && " "}
              {after !== null && <ins>{cell(after)}</ins>}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
