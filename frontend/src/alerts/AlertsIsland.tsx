import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AlertRule } from "../api/documents";
import { answered, at, client, done, explainError, explainProblems } from "../api/request";
import { count, instant } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { ProblemLine } from "../ui/ProblemLine";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";
import { type AlertFields, documentOf, EMPTY, toldOf } from "./alertForm";

const REFRESH_MS = 5000;
const LIMIT = 20;

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
        <AlertForm
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
          <Messages key={rule.id} rule={rule} />
        ))}
    </section>
  );
}

function Messages({ rule }: { rule: AlertRule }): JSX.Element {
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

function AlertForm({ onDone, onCancel }: { onDone: () => void; onCancel: () => void }): JSX.Element {
  const [fields, setFields] = useState<AlertFields>(EMPTY);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const topologies = useLoaded(() => answered(client.GET("/api/topologies/")));
  const account = useLoaded(() => answered(client.GET("/api/me/")));
  const set = (changes: Partial<AlertFields>): void => setFields((before) => ({ ...before, ...changes }));
  const submit = (): void => {
    setBusy(true);
    answered(client.POST("/api/alerts/", { body: documentOf(fields) }))
      .then(onDone, (error: unknown) => setProblems(explainProblems(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form
      class="form"
      aria-label="New alert"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {problems.map((problem) => (
        <p key={problem} class="problem-line" role="alert">
          {problem}
        </p>
      ))}
      <div class="form-row">
        <label class="field">
          <span>Name</span>
          <input
            type="text"
            required
            maxLength={100}
            value={fields.name}
            placeholder="night shift"
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Of</span>
          <select value={fields.topology} onChange={(event) => set({ topology: event.currentTarget.value })}>
            <option value="">every topology</option>
            {topologies.value?.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Team that may also see and change it</span>
          <select value={fields.team} onChange={(event) => set({ team: event.currentTarget.value })}>
            <option value="">none</option>
            {account.value?.teams.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <fieldset>
        <legend>Told when</legend>
        <label class="inline">
          <input
            type="checkbox"
            checked={fields.onFailed}
            onChange={(event) => set({ onFailed: event.currentTarget.checked })}
          />{" "}
          its job fails
        </label>
        <label class="field">
          <span>a watermark falls behind the newest tuple by more than this many seconds of event time</span>
          <input
            type="text"
            inputMode="numeric"
            value={fields.lag}
            placeholder="not told"
            onInput={(event) => set({ lag: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>tuples wait and no batch has been committed for this many seconds</span>
          <input
            type="text"
            inputMode="numeric"
            value={fields.stuck}
            placeholder="not told"
            onInput={(event) => set({ stuck: event.currentTarget.value })}
          />
        </label>
      </fieldset>
      <div class="form-row">
        <label class="field">
          <span>By</span>
          <select
            value={fields.channel}
            onChange={(event) =>
              set({ channel: event.currentTarget.value === "email" ? "email" : "webhook" })
            }
          >
            <option value="webhook">webhook</option>
            <option value="email">e-mail</option>
          </select>
        </label>
        <label class="field">
          <span>To</span>
          <input
            type="text"
            required
            maxLength={500}
            value={fields.target}
            placeholder={fields.channel === "email" ? "ann@example.org" : "https://example.org/hook"}
            onInput={(event) => set({ target: event.currentTarget.value })}
          />
        </label>
      </div>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={busy}>
          Make it
        </button>
      </div>
    </form>
  );
}
