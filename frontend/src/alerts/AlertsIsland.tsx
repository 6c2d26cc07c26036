import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AlertRule } from "../api/documents";
import { answered, at, client, done, explainError } from "../api/request";
import type { IslandProps } from "../shell/islandProps";
import { Button } from "../ui/Button";
import { type Notice, NoticeLine } from "../ui/Notice";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
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
  const [notice, setNotice] = useState<Notice | null>(null);
  const attempt = (work: Promise<unknown>, done: string): void => {
    work
      .then(
        () => setNotice({ text: done, bad: false }),
        (error: unknown) => setNotice({ text: explainError(error), bad: true }),
      )
      .finally(rules.reload);
  };
  const columns: readonly Column<AlertRule>[] = [
    {
      label: "Alert",
      cell: (rule) => (
        <>
          <strong>{rule.name}</strong>
          {!rule.enabled && <span class="muted"> off</span>}
        </>
      ),
    },
    { label: "Of", cell: (rule) => rule.topology ?? "every topology" },
    { label: "Told when", cell: toldOf },
    { label: "To", class: "target", cell: (rule) => `${rule.channel}: ${rule.target}` },
    {
      label: "Owner",
      kind: "wide",
      cell: ({ owner, team }) => (
        <>
          {owner}
          {team !== null && team !== undefined && <span class="muted"> {team}</span>}
        </>
      ),
    },
    {
      label: "Actions",
      hidden: true,
      cell: ({ id, name }) => (
        <span class="actions">
          <Button small aria-expanded={open === id} onClick={() => setOpen(open === id ? null : id)}>
            Messages
          </Button>
          <Button
            small
            onClick={() =>
              attempt(
                answered(client.POST("/api/alerts/{id}/test/", at({ id }))),
                "A test message is on its way.",
              )
            }
          >
            Test
          </Button>
          <Button
            small
            kind="danger"
            aria-label={`Delete ${name}`}
            onClick={() =>
              attempt(done(client.DELETE("/api/alerts/{id}/", at({ id }))), `${name} is deleted.`)
            }
          >
            Delete
          </Button>
        </span>
      ),
    },
  ];
  return (
    <section class="alerts">
      {me.role !== "viewer" && !adding && (
        <div class="toolbar">
          <span class="grow" />
          <Button kind="primary" onClick={() => setAdding(true)}>
            New alert
          </Button>
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
      <NoticeLine notice={notice} />
      <ProblemLine text={rules.problem} />
      {rules.value?.length === 0 && !adding && (
        <p class="empty">
          No alerts yet. Create one: choose a topology, a condition, and a webhook or an e-mail address.
        </p>
      )}
      {rules.value !== null && rules.value.length > 0 && (
        <Table columns={columns} rows={rules.value} rowKey={({ id }) => id} />
      )}
      {rules.value
        ?.filter((rule) => rule.id === open)
        .map((rule) => (
          <AlertMessages key={rule.id} rule={rule} />
        ))}
    </section>
  );
}
