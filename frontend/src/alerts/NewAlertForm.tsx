import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AlertRule } from "../api/documents";
import { answered, client, explainProblems } from "../api/request";
import { Button } from "../ui/Button";
import { SelectField, submits, TextField } from "../ui/fields";
import { TeamField } from "../ui/TeamField";
import { useLoaded } from "../ui/useLoaded";
import { type AlertFields, documentOf, EMPTY } from "./alertForm";

/** What else is told of, with a number. */
const LIMITS = [
  ["lag", "a watermark falls behind the newest tuple by more than this many seconds of event time"],
  ["stuck", "tuples wait and no batch has been committed for this many seconds"],
  ["letters", "more than this many dead letters come in a minute (0: any)"],
  ["latency", "one in 100 results of a query takes more than this many milliseconds"],
  ["state", "its stores hold more than this many megabytes"],
  ["cores", "its job uses more than this many cores over an epoch"],
] as const;

/** A form for a new alert. */
export function NewAlertForm({
  onDone,
  onCancel,
}: {
  onDone: (rule: AlertRule) => void;
  onCancel: () => void;
}): JSX.Element {
  const [fields, setFields] = useState<AlertFields>(EMPTY);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const topologies = useLoaded(() => answered(client.GET("/api/topologies/")));
  const set = (changes: Partial<AlertFields>): void => setFields((before) => ({ ...before, ...changes }));
  const submit = (): void => {
    setBusy(true);
    answered(client.POST("/api/alerts/", { body: documentOf(fields) }))
      .then(onDone, (error: unknown) => setProblems(explainProblems(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form class="form" aria-label="New alert" onSubmit={submits(submit)}>
      {problems.map((problem) => (
        <p key={problem} class="problem-line" role="alert">
          {problem}
        </p>
      ))}
      <div class="form-row">
        <TextField
          label="Name"
          required
          maxLength={100}
          value={fields.name}
          placeholder="night shift"
          onValue={(name) => set({ name })}
        />
        <SelectField
          label="Of"
          value={fields.topology}
          options={[["", "every topology"], ...(topologies.value ?? []).map(({ name }) => name)]}
          onValue={(topology) => set({ topology })}
        />
        <TeamField
          label="Team that may also see and change it"
          team={fields.team}
          onChange={(team) => set({ team })}
        />
      </div>
      <fieldset>
        <legend>Told when</legend>
        <label class="inline">
          <input
            type="checkbox"
            checked={fields.onFailed}
            onChange={(event) => set({ onFailed: event.currentTarget.checked })}
          />{" "}
          its job fails, a query of it is suspended or has wrong results, or a team has nearly spent its
          budget
        </label>
        {LIMITS.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            inputMode={name === "cores" ? "decimal" : "numeric"}
            value={fields[name]}
            placeholder="not told"
            onValue={(value) => set({ [name]: value })}
          />
        ))}
      </fieldset>
      <div class="form-row">
        <SelectField
          label="By"
          value={fields.channel}
          options={["webhook", ["email", "e-mail"]]}
          onValue={(channel) => set({ channel: channel === "email" ? "email" : "webhook" })}
        />
        <TextField
          label="To"
          required
          maxLength={500}
          value={fields.target}
          placeholder={fields.channel === "email" ? "ann@example.org" : "https://example.org/hook"}
          onValue={(target) => set({ target })}
        />
      </div>
      <div class="dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={busy}>
          Make it and test it
        </Button>
      </div>
    </form>
  );
}
