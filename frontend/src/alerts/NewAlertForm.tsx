import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { AlertRule } from "../api/documents";
import { answered, client, explainProblems } from "../api/request";
import { Button } from "../ui/Button";
import { SelectField, submits, TextField } from "../ui/fields";
import { TeamField } from "../ui/TeamField";
import { useLoaded } from "../ui/useLoaded";
import { type AlertFields, documentOf, EMPTY } from "./alertForm";

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
          its job fails
        </label>
        <TextField
          label="a watermark falls behind the newest tuple by more than this many seconds of event time"
          inputMode="numeric"
          value={fields.lag}
          placeholder="not told"
          onValue={(lag) => set({ lag })}
        />
        <TextField
          label="tuples wait and no batch has been committed for this many seconds"
          inputMode="numeric"
          value={fields.stuck}
          placeholder="not told"
          onValue={(stuck) => set({ stuck })}
        />
        <TextField
          label="more than this many dead letters come in a minute (0: any)"
          inputMode="numeric"
          value={fields.letters}
          placeholder="not told"
          onValue={(letters) => set({ letters })}
        />
        <TextField
          label="one in 100 results of a query takes more than this many milliseconds"
          inputMode="numeric"
          value={fields.latency}
          placeholder="not told"
          onValue={(latency) => set({ latency })}
        />
        <TextField
          label="its stores hold more than this many megabytes"
          inputMode="numeric"
          value={fields.state}
          placeholder="not told"
          onValue={(state) => set({ state })}
        />
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
