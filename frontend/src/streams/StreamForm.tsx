import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Connector, StreamChange, StreamDocument } from "../api/documents";
import { answered, at, client, explainProblems } from "../api/request";
import { ProblemLine } from "../ui/ProblemLine";
import { TeamField } from "../ui/TeamField";
import { useLoaded } from "../ui/useLoaded";
import { ConnectorFields } from "./ConnectorFields";
import {
  COLUMN_TYPES,
  changesOf,
  documentOf,
  EMPTY,
  faultsOf,
  fieldsOf,
  type StreamFields,
  timestamps,
} from "./streamFields";

interface Props {
  /** The stream to change; null registers a new one. */
  readonly stream: StreamDocument | null;
  readonly onDone: (saved: StreamDocument) => void;
  readonly onCancel: () => void;
}

/** Registers a stream, or changes one; columns and event time only while no query reads it. */
export function StreamForm(props: Props): JSX.Element {
  const { value: connectors, problem } = useLoaded(() => answered(client.GET("/api/connectors/")));
  if (connectors !== null) return <Fields {...props} connectors={connectors} />;
  return problem === null ? <p class="empty">Loading…</p> : <ProblemLine text={problem} />;
}

function Fields({
  stream,
  onDone,
  onCancel,
  connectors,
}: Props & { readonly connectors: readonly Connector[] }): JSX.Element {
  const [fields, setFields] = useState<StreamFields>(stream === null ? EMPTY : fieldsOf(stream, connectors));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const set = (changes: Partial<StreamFields>): void => setFields((before) => ({ ...before, ...changes }));
  const fixed = stream !== null && stream.query_count > 0;
  const setColumn = (place: number, changes: Partial<StreamFields["columns"][number]>): void => {
    const before = fields.columns[place];
    if (before === undefined) return;
    const columns = fields.columns.with(place, { ...before, ...changes });
    // The event time follows the renaming of its column.
    const renamed = changes.name !== undefined && fields.eventTime === before.name;
    set({ columns, ...(renamed ? { eventTime: changes.name ?? "" } : {}) });
  };
  const submit = (): void => {
    const faults = faultsOf(fields, connectors);
    setProblems(faults);
    if (faults.length > 0) return;
    setBusy(true);
    const work =
      stream === null
        ? answered(client.POST("/api/streams/", { body: documentOf(fields, connectors) }))
        : answered(
            client.PATCH("/api/streams/{name}/", {
              ...at({ name: stream.name }),
              // Every field may be left out; OpenAPI cannot say so of fields that have a default.
              body: changesOf(fields, stream, connectors) as StreamChange,
            }),
          );
    work.then(onDone, (error: unknown) => setProblems(explainProblems(error))).finally(() => setBusy(false));
  };
  return (
    <form
      class="form"
      aria-label={stream === null ? "Register a stream" : `Change ${stream.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {problems.map((problem) => (
        <ProblemLine key={problem} text={problem} />
      ))}
      {stream === null && (
        <label class="field">
          <span>Name</span>
          <input
            type="text"
            class="mono"
            value={fields.name}
            maxLength={63}
            placeholder="gates"
            autocomplete="off"
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </label>
      )}
      <label class="field">
        <span>About</span>
        <input
          type="text"
          value={fields.description}
          placeholder="What one tuple describes"
          onInput={(event) => set({ description: event.currentTarget.value })}
        />
      </label>
      <fieldset disabled={fixed}>
        <legend>Columns{fixed ? " (fixed: queries read the stream)" : ""}</legend>
        {fields.columns.map((column, place) => (
          <div key={place} class="column-row">
            <input
              type="text"
              class="mono"
              aria-label={`Name of column ${place + 1}`}
              value={column.name}
              maxLength={255}
              onInput={(event) => setColumn(place, { name: event.currentTarget.value })}
            />
            <select
              aria-label={`Type of column ${place + 1}`}
              value={column.type}
              onChange={(event) =>
                setColumn(place, {
                  type: COLUMN_TYPES.find((type) => type === event.currentTarget.value) ?? "string",
                })
              }
            >
              {COLUMN_TYPES.map((type) => (
                <option key={type} value={type}>
                  {type}
                </option>
              ))}
            </select>
            <button
              type="button"
              class="button small"
              aria-label={`Remove column ${place + 1}`}
              disabled={fields.columns.length === 1}
              onClick={() => set({ columns: fields.columns.filter((_, i) => i !== place) })}
            >
              ✕
            </button>
          </div>
        ))}
        <button
          type="button"
          class="button small"
          onClick={() => set({ columns: [...fields.columns, { name: "", type: "string" }] })}
        >
          Add a column
        </button>
        <label class="field">
          <span>Event time</span>
          <select
            value={fields.eventTime}
            onChange={(event) => set({ eventTime: event.currentTarget.value })}
          >
            {!timestamps(fields).includes(fields.eventTime) && (
              <option value={fields.eventTime}>choose a timestamp column</option>
            )}
            {timestamps(fields).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </fieldset>
      <div class="form-row">
        <label class="field">
          <span>Allowed lateness, seconds</span>
          <input
            type="text"
            inputMode="decimal"
            value={fields.lateness}
            onInput={(event) => set({ lateness: event.currentTarget.value })}
          />
        </label>
        <label
          class="field"
          title={
            "A tuple whose event time is further ahead of its arrival goes to the dead letters: " +
            "accepting it would make every later tuple late."
          }
        >
          <span>Event time ahead of arrival, at most hours</span>
          <input
            type="text"
            inputMode="decimal"
            value={fields.maxAhead}
            onInput={(event) => set({ maxAhead: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Later tuples</span>
          <select
            value={fields.late}
            onChange={(event) => set({ late: event.currentTarget.value === "join" ? "join" : "drop" })}
          >
            <option value="drop">go to the dead letters</option>
            <option value="join">are joined and marked</option>
          </select>
        </label>
        <label class="field">
          <span>Tuples per second, if known</span>
          <input
            type="text"
            inputMode="decimal"
            value={fields.rate}
            placeholder="unknown"
            onInput={(event) => set({ rate: event.currentTarget.value })}
          />
        </label>
        <TeamField
          label="Team that may also change it"
          team={fields.team}
          onChange={(team) => set({ team })}
        />
        <label class="field">
          <span>Tasks of its stores</span>
          <input
            type="text"
            inputMode="numeric"
            value={fields.tasks}
            placeholder="auto"
            onInput={(event) => set({ tasks: event.currentTarget.value })}
          />
        </label>
      </div>
      <ConnectorFields connectors={connectors} fields={fields} set={set} fixed={fixed} />
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={busy}>
          {stream === null ? "Register" : "Save"}
        </button>
      </div>
    </form>
  );
}
