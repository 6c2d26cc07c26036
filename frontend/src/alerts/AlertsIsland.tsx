import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, at, client, done, explainError } from "../api/request";
import type { IslandProps } from "../shell/islandProps";
import { ProblemLine } from "../ui/ProblemLine";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";
import { AlertMessages } from "./AlertMessages";
import { toldOf } from "./alertForm";
import { NewAlertForm } from "./NewAlertForm";

const REFRESH_MS = 5000;

/** Who is told when a topology fails, lags or stands still. */
export function AlertsIsland({ me }: IslandProps): JSX.Element {
  const rules = useLoaded(() => answered(client.GET("/api/alerts/")), REFRESH_MS);
  const [open, setOpen] = useState<number | null>(null);
  const [adding, setAdding] = useState(false);
  const [notice, setNotice] = useState<{ text: string; bad: boolean } | null>(null);
  const attempt = (work: Promise<unknown>, done: string): void => {
    work
      .then(
        () => setNotice({ text: done, bad: false }),
        (error: unknown) => setNotice({ text: explainError(error), bad: true }),
      )
      .finally(rules.reload);
  };
  return (
    <section class="alerts">
      {me.role !== "viewer" && !adding && (
        <div class="toolbar">
          <span class="grow" />
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            New alert
          </button>
        </div>
      )}
      {adding && (
        <NewAlertForm
          onCancel={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            rules.reload();
          }}
        />
      )}
      {notice !== null && (
        <p class={notice.bad ? "problem-line" : "notice"} role={notice.bad ? "alert" : "status"}>
          {notice.text}
        </p>
      )}
      <ProblemLine text={rules.problem} />
      {rules.value?.length === 0 && !adding && (
        <p class="empty">
          No alerts yet. Create one: choose a topology, a condition, and a webhook or an e-mail address.
        </p>
      )}
      {rules.value !== null && rules.value.length > 0 && (
        <table class="list stack">
          <TableHead
            columns={[
              "Alert",
              "Of",
              "Told when",
              "To",
              { label: "Owner", class: "wide" },
              { label: "Actions", hidden: true },
            ]}
          />
          <tbody>
            {rules.value.map((rule) => (
              <tr key={rule.id}>
                <td>
                  <strong>{rule.name}</strong>
                  {!rule.enabled && <span class="muted"> off</span>}
                </td>
                <td>{rule.topology ?? "every topology"}</td>
                <td>{toldOf(rule)}</td>
                <td class="target">
                  {rule.channel}: {rule.target}
                </td>
                <td class="wide">
                  {rule.owner}
                  {rule.team !== null && rule.team !== undefined && <span class="muted"> {rule.team}</span>}
                </td>
                <td>
                  <span class="actions">
                    <button
                      type="button"
                      class="button small"
                      aria-expanded={open === rule.id}
                      onClick={() => setOpen(open === rule.id ? null : rule.id)}
                    >
                      Messages
                    </button>
                    <button
                      type="button"
                      class="button small"
                      onClick={() =>
                        attempt(
                          answered(client.POST("/api/alerts/{id}/test/", at({ id: rule.id }))),
                          "A test message is on its way.",
                        )
                      }
                    >
                      Test
                    </button>
                    <button
                      type="button"
                      class="button small danger"
                      aria-label={`Delete ${rule.name}`}
                      onClick={() =>
                        attempt(
                          done(client.DELETE("/api/alerts/{id}/", at({ id: rule.id }))),
                          `${rule.name} is deleted.`,
                        )
                      }
                    >
                      Delete
                    </button>
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rules.value
        ?.filter((rule) => rule.id === open)
        .map((rule) => (
          <AlertMessages key={rule.id} rule={rule} />
        ))}
    </section>
  );
}
