import type { JSX } from "preact";
import { keyColumns, type StreamFields } from "./streamForm";

interface Props {
  readonly fields: StreamFields;
  readonly set: (changes: Partial<StreamFields>) => void;
  /** True while queries read the stream: where its tuples come from stays. */
  readonly fixed: boolean;
}

/** The part of a stream's form that says which Kafka topic brings its tuples. */
export function TopicFields({ fields, set, fixed }: Props): JSX.Element {
  return (
    <fieldset disabled={fixed}>
      <legend>Kafka topic, if tuples come from one</legend>
      <div class="form-row">
        <label class="field">
          <span>Topic</span>
          <input
            type="text"
            class="mono"
            value={fields.topic}
            maxLength={249}
            placeholder="none"
            autocomplete="off"
            onInput={(event) => set({ topic: event.currentTarget.value.trim() })}
          />
        </label>
        {fields.topic !== "" && (
          <label class="field">
            <span>Values</span>
            <select
              value={fields.format}
              onChange={(event) => set({ format: event.currentTarget.value === "avro" ? "avro" : "json" })}
            >
              <option value="json">JSON</option>
              <option value="avro">Avro</option>
            </select>
          </label>
        )}
      </div>
      {fields.topic !== "" && fields.format === "avro" && (
        <>
          <label class="field">
            <span>Avro schema</span>
            <textarea
              class="mono"
              rows={4}
              value={fields.schema}
              onInput={(event) => set({ schema: event.currentTarget.value })}
            />
          </label>
          <label class="field">
            <span>Number before each value, of a schema registry</span>
            <input
              type="text"
              inputMode="numeric"
              value={fields.schemaId}
              placeholder="none"
              onInput={(event) => set({ schemaId: event.currentTarget.value })}
            />
          </label>
        </>
      )}
      {fields.topic !== "" && (
        <div class="form-row">
          <label class="field">
            <span>Keys go to the column</span>
            <select value={fields.key} onChange={(event) => set({ key: event.currentTarget.value })}>
              <option value="">none</option>
              {keyColumns(fields).map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>Event time is</span>
            <select
              value={fields.recordTime ? "record" : "value"}
              onChange={(event) => set({ recordTime: event.currentTarget.value === "record" })}
            >
              <option value="value">in the value</option>
              <option value="record">the record's timestamp</option>
            </select>
          </label>
          <label class="field">
            <span>Begin with</span>
            <select
              value={fields.start}
              onChange={(event) =>
                set({ start: event.currentTarget.value === "latest" ? "latest" : "earliest" })
              }
            >
              <option value="earliest">the oldest record</option>
              <option value="latest">the newest record</option>
            </select>
          </label>
          <label class="field">
            <span>If the topic lost what comes next</span>
            <select
              value={fields.lost}
              onChange={(event) => set({ lost: event.currentTarget.value === "skip" ? "skip" : "fail" })}
            >
              <option value="fail">stop with an error</option>
              <option value="skip">continue after the gap</option>
            </select>
          </label>
          <label class="field">
            <span>Most records of a batch</span>
            <input
              type="text"
              inputMode="numeric"
              value={fields.mostPerBatch}
              placeholder="no bound"
              onInput={(event) => set({ mostPerBatch: event.currentTarget.value })}
            />
          </label>
        </div>
      )}
    </fieldset>
  );
}
