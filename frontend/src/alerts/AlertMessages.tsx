import type { JSX } from "preact";
import type { AlertDelivery, AlertRule } from "../api/documents";
import { answered, at, client } from "../api/request";
import { count, instant } from "../format/quantities";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 5000;
const LIMIT = 20;
const COLUMNS: readonly Column<AlertDelivery>[] = [
  { label: "Since (UTC)", cell: (one) => instant(one.opened_at) },
  { label: "What", cell: (one) => `${one.topology ?? "test"}: ${one.kind} ${one.event}` },
  { label: "Detail", cell: (one) => one.detail },
  {
    label: "Message",
    cell: (one) => (
      <>
        {one.state}
        {one.error !== "" && <span class="bad"> {one.error}</span>}
      </>
    ),
  },
  { label: "Attempts", kind: "number", cell: (one) => count(one.attempts) },
];

/** An alert's newest messages, and how a webhook's receiver knows them for ours. */
export function AlertMessages({ rule }: { rule: AlertRule }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/alerts/{id}/deliveries/", at({ id: rule.id }, { limit: LIMIT }))),
    REFRESH_MS,
    rule.id,
  );
  return (
    <section aria-label={`Messages of ${rule.name}`}>
      <h2>Messages of {rule.name}</h2>
      {rule.channel === "webhook" && (
        <p class="muted">
          Signed with <code class="secret">{rule.secret}</code>: <code>X-Millrace-Signature</code> is the
          HMAC-SHA256 of the body.
        </p>
      )}
      <ProblemLine text={problem} />
      {value?.length === 0 && <p class="empty">No messages yet.</p>}
      {value !== null && value.length > 0 && (
        <div class="table-scroll">
          <Table columns={COLUMNS} rows={value} rowKey={({ id }) => id} />
        </div>
      )}
    </section>
  );
}
