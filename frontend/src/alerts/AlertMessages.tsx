import type { JSX } from "preact";
import type { AlertRule } from "../api/documents";
import { answered, at, client } from "../api/request";
import { count, instant } from "../format/quantities";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 5000;
const LIMIT = 20;

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
      {problem !== null && <p class="problem-line">{problem}</p>}
      {value?.length === 0 && <p class="empty">No messages yet.</p>}
      {value !== null && value.length > 0 && (
        <div class="table-scroll">
          <table class="list stack">
            <TableHead
              columns={["Since (UTC)", "What", "Detail", "Message", { label: "Attempts", class: "number" }]}
            />
            <tbody>
              {value.map((one) => (
                <tr key={one.id}>
                  <td>{instant(one.opened_at)}</td>
                  <td>
                    {one.topology ?? "test"}: {one.kind} {one.event}
                  </td>
                  <td>{one.detail}</td>
                  <td>
                    {one.state}
                    {one.error !== "" && <span class="bad"> {one.error}</span>}
                  </td>
                  <td class="number" data-label="attempts">
                    {count(one.attempts)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
