import type { JSX } from "preact";
import { answered, at, client } from "../api/request";
import { instant } from "../format/quantities";
import { Opened } from "../ui/Opened";
import { ScrollArea } from "../ui/table/ScrollArea";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";

const LIMIT = 50;

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
  if (value === null)
    return problem === null ? <p class="muted">Loading…</p> : <p class="problem-line">{problem}</p>;
  if (value.length === 0) return <p class="empty">No actions yet.</p>;
  return (
    <ScrollArea label={`Audit trail of ${topology}`}>
      <table class="list stack">
        <TableHead columns={["When (UTC)", "Who", "What", "Of what"]} />
        <tbody>
          {value.map((entry, i) => (
            <tr key={i}>
              <td>{instant(entry.at)}</td>
              <td>{entry.account ?? <span class="muted">deleted account</span>}</td>
              <td>{entry.action}</td>
              <td>{entry.detail}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
