import type { JSX } from "preact";
import { instant } from "../../format/quantities";
import { Button } from "../../ui/Button";
import type { Entry } from "./entries";

interface Props {
  readonly entries: readonly Entry[];
  readonly current: string;
  readonly onTake: (sql: string) => void;
  readonly onClose: () => void;
}

/** Earlier texts; taking one is a change that undo takes back. */
export function TextHistory({ entries, current, onTake, onClose }: Props): JSX.Element {
  return (
    <section class="preview" aria-label="History">
      <div class="toolbar">
        <h2>History</h2>
        <span class="muted">what you previewed, saved or deployed in this browser</span>
        <span class="grow" />
        <Button small onClick={onClose}>
          Close
        </Button>
      </div>
      {entries.length === 0 ? (
        <p class="empty">Nothing yet. Texts that you preview, save or deploy appear here.</p>
      ) : (
        <table class="list">
          <tbody>
            {entries.map((entry) => (
              <tr key={`${entry.at} ${entry.name}`}>
                <td class="muted">{instant(entry.at)} UTC</td>
                <td>{entry.action}</td>
                <td>{entry.name === "" ? <span class="muted">no name yet</span> : entry.name}</td>
                <td>
                  <code class="clip" title={entry.sql}>
                    {entry.sql.replaceAll(/\s+/g, " ").slice(0, 90)}
                  </code>
                </td>
                <td>
                  {entry.sql === current ? (
                    <span class="muted">in the editor</span>
                  ) : (
                    <Button small onClick={() => onTake(entry.sql)}>
                      Use this
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
