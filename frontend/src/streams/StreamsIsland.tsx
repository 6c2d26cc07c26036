import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { StreamDocument } from "../api/documents";
import { answered, at, client, done, explainError } from "../api/request";
import { streamColours } from "../colour/streams";
import { count, rate, span } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { ProblemLine } from "../ui/ProblemLine";
import { StreamChip } from "../ui/StreamChip";
import { RowsTable } from "../ui/table/RowsTable";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";
import { ArrivalPlots } from "./ArrivalPlots";
import { DeadLetterList } from "./DeadLetterList";
import { entryRate, useEntryRates } from "./entryRates";
import { StreamForm } from "./StreamForm";
import { StreamReaders } from "./StreamReaders";
import { writersOf } from "./streamFields";

const REFRESH_MS = 3000;
const SAMPLE_ROWS = 20;

/** All streams, or one with its columns and newest tuples. */
export function StreamsIsland({ stream, me }: IslandProps): JSX.Element {
  const [registering, setRegistering] = useState(false);
  const writer = me.role !== "viewer";
  const streams = useLoaded(() => answered(client.GET("/api/streams/")), REFRESH_MS);
  const rates = useEntryRates(streams.value);
  const colour = useMemo(
    () => streamColours((streams.value ?? []).map((entry) => entry.name)),
    [streams.value],
  );
  const chosen = stream === null ? null : (streams.value?.find((entry) => entry.name === stream) ?? null);
  return (
    <section class="streams">
      <ProblemLine text={streams.problem} />
      {streams.value?.length === 0 && (
        <p class="empty">
          No stream yet. Register one: a name, its columns, and which of them is the event time. Then send
          tuples, here or to its Redis stream.
        </p>
      )}
      {streams.value !== null && stream !== null && chosen === null && (
        <p class="problem-line" role="alert">
          No stream is called {stream}. <a href="/streams/">All streams</a>
        </p>
      )}
      {stream === null && !registering && writer && (
        <div class="toolbar">
          <span class="grow" />
          <button type="button" class="button primary" onClick={() => setRegistering(true)}>
            Register a stream
          </button>
        </div>
      )}
      {registering && (
        <StreamForm
          stream={null}
          onCancel={() => setRegistering(false)}
          onDone={(saved) => window.location.assign(`/streams/${encodeURIComponent(saved.name)}/`)}
        />
      )}
      {chosen !== null && (
        <StreamDetail
          key={chosen.name}
          onChanged={streams.reload}
          stream={chosen}
          arriving={entryRate(rates, chosen.name)}
          colour={colour}
        />
      )}
      {stream === null && streams.value !== null && streams.value.length > 0 && (
        <div class="table-scroll">
          <table class="list stack">
            <TableHead
              columns={[
                "Stream",
                {
                  label: "Declared rate",
                  class: "number",
                  title: "tuples per second of event time, as declared",
                },
                { label: "Arriving", class: "number", title: "entries per second that reach Redis now" },
                { label: "Entries", class: "number", title: "entries held in Redis" },
                { label: "Event time", class: "wide" },
                { label: "Late after", class: "wide" },
                { label: "Queries", class: "number" },
              ]}
            />
            <tbody>
              {streams.value.map((entry) => (
                <tr key={entry.name}>
                  <td>
                    <StreamChip
                      stream={entry.name}
                      colour={colour}
                      href={`/streams/${encodeURIComponent(entry.name)}/`}
                    />
                    <div class="muted clip">{entry.description}</div>
                  </td>
                  <td class="number" data-label="declared">
                    {rate(entry.tuples_per_second)}
                  </td>
                  <td class="number" data-label="arriving">
                    {rate(entryRate(rates, entry.name))}
                  </td>
                  <td class="number" data-label="entries">
                    {count(entry.entries)}
                  </td>
                  <td class="wide mono">{entry.event_time}</td>
                  <td class="wide">{span(entry.lateness_ms)}</td>
                  <td class="number" data-label="queries">
                    <a href={`/queries/?search=${encodeURIComponent(`stream:${entry.name}`)}`}>
                      {count(entry.query_count)}
                    </a>
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

function StreamDetail({
  stream,
  arriving,
  colour,
  onChanged,
}: {
  stream: StreamDocument;
  arriving: number | null;
  colour: ReturnType<typeof streamColours>;
  onChanged: () => void;
}): JSX.Element {
  const [editing, setEditing] = useState(false);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const sample = useLoaded(
    () =>
      answered(client.GET("/api/streams/{name}/sample/", at({ name: stream.name }, { limit: SAMPLE_ROWS }))),
    REFRESH_MS,
    stream.name,
  );
  return (
    <>
      <div class="toolbar">
        <StreamChip stream={stream.name} colour={colour} />
        <span>{stream.description}</span>
        <span class="grow" />
        {stream.can_edit && (
          <button type="button" class="button" aria-expanded={editing} onClick={() => setEditing(!editing)}>
            Edit
          </button>
        )}
        {stream.can_edit && (
          <button
            type="button"
            class="button danger"
            disabled={stream.query_count > 0}
            title={stream.query_count > 0 ? "Queries read it." : undefined}
            onClick={() => setAsking(true)}
          >
            Delete…
          </button>
        )}
        <a class="button" href="/streams/">
          All streams
        </a>
      </div>
      <ProblemLine text={problem} />
      {!stream.can_edit && <p class="muted">{writersOf(stream)}</p>}
      {editing && (
        <StreamForm
          stream={stream}
          onCancel={() => setEditing(false)}
          onDone={() => {
            setEditing(false);
            onChanged();
          }}
        />
      )}
      {asking && (
        <ConfirmDialog
          title={`Delete ${stream.name}?`}
          confirm="Delete"
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            done(client.DELETE("/api/streams/{name}/", at({ name: stream.name }))).then(
              () => window.location.assign("/streams/"),
              (error: unknown) => setProblem(explainError(error)),
            );
          }}
        >
          <p>The {count(stream.entries)} entries that Redis holds for it are deleted too.</p>
        </ConfirmDialog>
      )}
      <dl class="numbers">
        <div>
          <dt>declared</dt>
          <dd>{rate(stream.tuples_per_second)}</dd>
        </div>
        <div>
          <dt>arriving</dt>
          <dd>{rate(arriving)}</dd>
        </div>
        <div>
          <dt>entries</dt>
          <dd>{count(stream.entries)}</dd>
        </div>
        <div>
          <dt>late after</dt>
          <dd>{span(stream.lateness_ms)}</dd>
        </div>
        <div title="A tuple whose event time is further ahead of its arrival goes to the dead letters.">
          <dt>ahead by at most</dt>
          <dd>{span(stream.max_ahead_ms)}</dd>
        </div>
        <div>
          <dt>late tuples</dt>
          <dd>{stream.late === "drop" ? "dead letters" : "joined, marked"}</dd>
        </div>
        <div>
          <dt>tasks</dt>
          <dd>{stream.parallelism === null ? "auto" : count(stream.parallelism)}</dd>
        </div>
      </dl>
      <h2>Columns</h2>
      <p class="chips">
        {stream.columns.map((column) => (
          <span key={column.name} class="chip mono">
            {column.name}{" "}
            <span class="muted">
              {column.type}
              {column.name === stream.event_time ? " · event time" : ""}
            </span>
          </span>
        ))}
      </p>
      <StreamReaders name={stream.name} />
      <ArrivalPlots stream={stream.name} colour={colour(stream.name)} />
      <DeadLetterList stream={stream} />
      <h2>Newest tuples</h2>
      {sample.problem !== null && <p class="problem-line">{sample.problem}</p>}
      {sample.value?.rows.length === 0 && (
        <p class="empty">
          No tuple has arrived.{" "}
          {stream.can_edit && (
            <>
              Send one: <code>POST /api/streams/{stream.name}/events/</code>, or XADD to its Redis stream.
            </>
          )}
        </p>
      )}
      {sample.value !== null && sample.value.rows.length > 0 && (
        <RowsTable
          columns={sample.value.columns}
          rows={sample.value.rows}
          caption={`Newest tuples of ${stream.name}`}
        />
      )}
    </>
  );
}
