import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AlertDelivery, AlertRule } from "../api/documents";
import { answered, at, client, done, explainError } from "../api/request";
import { instant } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { AccountName } from "../ui/AccountName";
import { Button } from "../ui/Button";
import { type Notice, NoticeLine } from "../ui/Notice";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { AlertMessages } from "./AlertMessages";
import { toldOf } from "./alertForm";
import { NewAlertForm } from "./NewAlertForm";
import { outcomeOf, tryAlert } from "./trial";

const REFRESH_MS = 5000;

/** Who is told when a topology fails, lags or stands still. */
export function AlertsIsland({ me }: IslandProps): JSX.Element {
  const rules = useLoaded(() => answered(client.GET("/api/alerts/")), REFRESH_MS);
  const [open, setOpen] = useState<number | null>(null);
  const [adding, setAdding] = useState(false);
  /** The alert whose test message is on its way. */
  const [trying, setTrying] = useState<number | null>(null);
  const [notice, setNotice] = useState<Notice | null>(null);
  const attempt = (work: Promise<unknown>, done: string): void => {
    work
      .then(
        () => setNotice({ text: done, bad: false }),
        (error: unknown) => setNotice({ text: explainError(error), bad: true }),
      )
      .finally(rules.reload);
  };
  const test = (id: number, name: string): void => {
    setTrying(id);
    tryAlert(id)
      .then(
        ({ text, bad }) => setNotice({ text: `${name}: ${text}`, bad }),
        (error: unknown) => setNotice({ text: explainError(error), bad: true }),
      )
      .finally(() => {
        setTrying(null);
        rules.reload();
      });
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
    {
      label: "To",
      class: "target",
      cell: (rule) => (
        <>
          {rule.channel}: {rule.target}
          <div class="small">
            <Reached newest={rule.newest} />
          </div>
        </>
      ),
    },
    {
      label: "Owner",
      kind: "wide",
      cell: ({ owner, owner_is_service, team }) => (
        <>
          <AccountName name={owner} isService={owner_is_service} />
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
            disabled={trying !== null}
            title="Send a message that says that it is a test, and wait for what becomes of it"
            onClick={() => test(id, name)}
          >
            {trying === id ? "Testing…" : "Test"}
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
          onDone={(rule) => {
            setAdding(false);
            rules.reload();
            test(rule.id, rule.name);
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

/** Whether anything has ever arrived there. */
function Reached({ newest }: { readonly newest: AlertDelivery | null }): JSX.Element {
  if (newest === null) return <span class="muted">never tried</span>;
  const outcome = outcomeOf(newest);
  const when = `${newest.kind} of ${instant(newest.opened_at)} UTC`;
  if (outcome === null) return <span class="muted">{when} is on its way</span>;
  return outcome.bad ? (
    <span class="bad">
      ✕ {when} {outcome.text}
    </span>
  ) : (
    <span class="good">
      ✓ {when} {outcome.text}
    </span>
  );
}
