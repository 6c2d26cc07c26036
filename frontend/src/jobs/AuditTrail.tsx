import type { JSX } from "preact";
import type { TopologyAuditEntry } from "../api/documents";
import { answered, at, client } from "../api/request";
import { instant } from "../format/quantities";
import { AccountName } from "../ui/AccountName";
import { Loading } from "../ui/Loading";
import { Opened } from "../ui/Opened";
import { ScrollArea } from "../ui/table/ScrollArea";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";

const LIMIT = 50;
const COLUMNS: readonly Column<TopologyAuditEntry>[] = [
  { label: "When (UTC)", cell: (entry) => instant(entry.at) },
  {
    label: "Who",
    cell: ({ account, account_is_service }) =>
      account === null ? (
        <span class="muted">Millrace</span>
      ) : (
        <AccountName name={account} isService={account_is_service === true} />
      ),
  },
  { label: "What", cell: (entry) => entry.action },
  { label: "Of what", cell: (entry) => entry.detail },
];

/** Who asked for what of a topology; loaded when somebody opens it. */
export function AuditTrail({ topology }: { topology: string }): JSX.Element {
  return <Opened summary="Audit trail">{() => <Entries topology={topology} />}</Opened>;
}

function Entries({ topology }: { topology: string }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/topologies/{name}/audit/", at({ name: topology }, { limit: LIMIT }))),
    null,
    topology,
  );
  if (value === null) return <Loading problem={problem} />;
  if (value.length === 0) return <p class="empty">No actions yet.</p>;
  return (
    <ScrollArea label={`Audit trail of ${topology}`}>
      <Table columns={COLUMNS} rows={value} />
    </ScrollArea>
  );
}
