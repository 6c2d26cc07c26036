import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { answered, client, explainProblems } from "../api/request";
import { TeamField } from "../ui/TeamField";
import { useLoaded } from "../ui/useLoaded";
import { type AlertFields, documentOf, EMPTY } from "./alertForm";

/** A form for a new alert. */
export function NewAlertForm({
  onDone,
  onCancel,
}: {
  onDone: () => void;
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
