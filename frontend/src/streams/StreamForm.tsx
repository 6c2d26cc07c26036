import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Connector, StreamChange, StreamDocument } from "../api/documents";
import { answered, at, client, explainProblems } from "../api/request";
import { Button } from "../ui/Button";
import { Select, SelectField, submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { TeamField } from "../ui/TeamField";
import { useLoaded } from "../ui/useLoaded";
import { ConnectorFields } from "./ConnectorFields";
import { SampleField } from "./sample/SampleField";
import {
  COLUMN_TYPES,
  changesOf,
  digitsOf,
  documentOf,
  EMPTY,
  faultsOf,
  fieldsOf,
  NEW_DECIMAL,
  type StreamFields,
  timestamps,
} from "./streamFields";
import { TableFields } from "./TableFields";

interface Props {
  /** The stream to change; null registers a new one. */
  readonly stream: StreamDocument | null;
  /** What a new one's form begins with. */
  readonly begin?: StreamFields | undefined;
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
  begin = EMPTY,
  onDone,
  onCancel,
  connectors,
}: Props & { readonly connectors: readonly Connector[] }): JSX.Element {
  const [fields, setFields] = useState<StreamFields>(stream === null ? begin : fieldsOf(stream, connectors));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const set = (changes: Partial<StreamFields>): void => setFields((before) => ({ ...before, ...changes }));
  const fixed = stream !== null && stream.query_count > 0;
  const isTable = fields.kind === "table";
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
      onSubmit={submits(submit)}
    >
      {problems.map((problem) => (
        <ProblemLine key={problem} text={problem} />
      ))}
      {stream === null && (
        <TextField
          label="Name"
          class="mono"
          value={fields.name}
          maxLength={63}
          placeholder="gates"
          autocomplete="off"
          onValue={(name) => set({ name })}
        />
      )}
      <TextField
        label="About"
        value={fields.description}
        placeholder="What one tuple describes"
        onValue={(description) => set({ description })}
      />
      {stream === null && <SampleField fields={fields} set={set} />}
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
            <Select
              aria-label={`Type of column ${place + 1}`}
              value={digitsOf(column.type) === null ? column.type : NEW_DECIMAL}
              options={[
                ...(column.type === "" ? [["", "choose a type"] as const] : []),
                ...COLUMN_TYPES,
                [NEW_DECIMAL, "decimal"],
              ]}
              onValue={(type) => setColumn(place, { type })}
            />
            {digitsOf(column.type) !== null && (
              <input
                type="text"
                class="mono digits"
                aria-label={`Digits of column ${place + 1}, in all and behind the point`}
                title="Digits in all, and those behind the point"
                value={digitsOf(column.type) ?? ""}
                size={5}
                onInput={(event) => setColumn(place, { type: `decimal(${event.currentTarget.value})` })}
              />
            )}
            <Button
              small
              aria-label={`Remove column ${place + 1}`}
              disabled={fields.columns.length === 1}
              onClick={() => set({ columns: fields.columns.filter((_, i) => i !== place) })}
            >
              ✕
            </Button>
          </div>
        ))}
        <Button small onClick={() => set({ columns: [...fields.columns, { name: "", type: "string" }] })}>
          Add a column
        </Button>
        <SelectField
          label="Event time"
          value={fields.eventTime}
          options={
            timestamps(fields).includes(fields.eventTime)
              ? timestamps(fields)
              : [[fields.eventTime, "choose a timestamp column"], ...timestamps(fields)]
          }
          onValue={(eventTime) => set({ eventTime })}
        />
        <TableFields fields={fields} set={set} />
      </fieldset>
      <div class="form-row">
        {!isTable && (
          <TextField
            label="Allowed lateness, seconds"
            inputMode="decimal"
            value={fields.lateness}
            onValue={(lateness) => set({ lateness })}
          />
        )}
        <TextField
          label="Event time ahead of arrival, at most hours"
          help={
            "A tuple whose event time is further ahead of its arrival goes to the dead letters: " +
            "accepting it would make every later tuple late."
          }
          inputMode="decimal"
          value={fields.maxAhead}
          onValue={(maxAhead) => set({ maxAhead })}
        />
        {!isTable && (
          <SelectField
            label="Later tuples"
            value={fields.late}
            options={[
              ["drop", "go to the dead letters"],
              ["join", "are joined and marked"],
            ]}
            onValue={(late) => set({ late: late === "join" ? "join" : "drop" })}
          />
        )}
        <TextField
          label="Tuples per second, if known"
          inputMode="decimal"
          value={fields.rate}
          placeholder="unknown"
          onValue={(rate) => set({ rate })}
        />
        <TeamField
          label="Team that may also change it"
          team={fields.team}
          onChange={(team) => set({ team })}
        />
        <TextField
          label="Tasks of its stores"
          inputMode="numeric"
          value={fields.tasks}
          placeholder="auto"
          onValue={(tasks) => set({ tasks })}
        />
      </div>
      <ConnectorFields connectors={connectors} fields={fields} set={set} fixed={fixed} />
      <div class="dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={busy}>
          {stream === null ? "Register" : "Save"}
        </Button>
      </div>
    </form>
  );
}
