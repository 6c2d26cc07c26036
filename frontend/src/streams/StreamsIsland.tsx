import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { StreamDocument } from "../api/documents";
import { answered, at, client, done } from "../api/request";
import { streamColours } from "../colour/streams";
import { count, rate, span } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { ProblemLine } from "../ui/ProblemLine";
import { StreamChip } from "../ui/StreamChip";
import { RowsTable } from "../ui/table/RowsTable";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useRequest } from "../ui/useRequest";
import { ArrivalPlots } from "./ArrivalPlots";
import { ColumnChips } from "./ColumnChips";
import { DeadLetterList } from "./DeadLetterList";
import { entryRate, useEntryRates } from "./entryRates";
import { prefilledIn } from "./prefill";
import { SendForm } from "./SendForm";
import { StreamFacts } from "./StreamFacts";
import { StreamForm } from "./StreamForm";
import { StreamReaders } from "./StreamReaders";
import { isSentHere, sourceText, writersOf } from "./streamFields";

const REFRESH_MS = 3000;
const SAMPLE_ROWS = 20;

/** All streams, or one with its columns and newest tuples. */
export function StreamsIsland({ stream, me }: IslandProps): JSX.Element {
  const [registering, setRegistering] = useState(
    stream === null && new URLSearchParams(window.location.search).has("register"),
  );
  const writer = me.role !== "viewer";
  const streams = useLoaded(() => answered(client.GET("/api/streams/")), REFRESH_MS);
  const rates = useEntryRates(streams.value);
  const colour = useMemo(
    () => streamColours((streams.value ?? []).map((entry) => entry.name)),
    [streams.value],
  );
  const chosen = stream === null ? null : (streams.value?.find((entry) => entry.name === stream) ?? null);
  const columns: readonly Column<StreamDocument>[] = [
    {
      label: "Stream",
      cell: ({ name, description }) => (
        <>
          <StreamChip stream={name} colour={colour} href={`/streams/${encodeURIComponent(name)}/`} />
          <div class="muted clip">{description}</div>
        </>
      ),
    },
    {
      label: "Declared rate",
      short: "declared",
      kind: "number",
      title: "tuples per second of event time, as declared",
      cell: (entry) => rate(entry.tuples_per_second),
    },
    {
      label: "Arriving",
      kind: "number",
      title: "entries per second that reach Redis now",
      cell: ({ name }) => rate(entryRate(rates, name)),
    },
    {
      label: "Entries",
      kind: "number",
      title: "entries held in Redis",
      cell: ({ entries }) => count(entries),
    },
    { label: "Event time", kind: "wide", class: "mono", cell: ({ event_time }) => event_time },
    { label: "Late after", kind: "wide", cell: ({ lateness_ms }) => span(lateness_ms) },
    {
      label: "Queries",
      kind: "number",
      cell: ({ name, query_count }) => (
        <a href={`/queries/?search=${encodeURIComponent(`stream:${name}`)}`}>{count(query_count)}</a>
      ),
    },
  ];
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
          <Button kind="primary" onClick={() => setRegistering(true)}>
            Register a stream
          </Button>
        </div>
      )}
      {registering && (
        <StreamForm
          stream={null}
          begin={prefilledIn(window.location.hash) ?? undefined}
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
          <Table columns={columns} rows={streams.value} rowKey={({ name }) => name} />
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
  const [sending, setSending] = useState(false);
  const { problem, send } = useRequest();
  const connectors = useLoaded(() => answered(client.GET("/api/connectors/")));
  const source = connectors.value === null ? null : sourceText(stream, connectors.value);
  // Until it is known nothing is offered that a connector's stream refuses.
  const takesTuples = stream.can_edit && connectors.value !== null && isSentHere(stream, connectors.value);
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
        {takesTuples && (
          <Button aria-expanded={sending} onClick={() => setSending(!sending)}>
            Send tuples
          </Button>
        )}
        {stream.can_edit && (
          <Button aria-expanded={editing} onClick={() => setEditing(!editing)}>
            Edit
          </Button>
        )}
        {stream.can_edit && (
          <Button
            kind="danger"
            disabled={stream.query_count > 0}
            title={stream.query_count > 0 ? "Queries read it." : undefined}
            onClick={() => setAsking(true)}
          >
            Delete…
          </Button>
        )}
        <a class="button" href="/streams/">
          All streams
        </a>
      </div>
      <ProblemLine text={problem ?? connectors.problem} />
      {source !== null && (
        <p>
          Its tuples are read from <strong>{source}</strong>; nobody sends them here.
        </p>
      )}
      {!stream.can_edit && <p class="muted">{writersOf(stream)}</p>}
      {sending && <SendForm stream={stream} onSent={sample.reload} />}
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
            send(done(client.DELETE("/api/streams/{name}/", at({ name: stream.name }))), () =>
              window.location.assign("/streams/"),
            );
          }}
        >
          <p>The {count(stream.entries)} entries that Redis holds for it are deleted too.</p>
        </ConfirmDialog>
      )}
      <StreamFacts stream={stream} arriving={arriving} />
      <h2>Columns</h2>
      <ColumnChips stream={stream} />
      <StreamReaders name={stream.name} />
      <ArrivalPlots stream={stream.name} colour={colour(stream.name)} />
      <DeadLetterList stream={stream} redrives={takesTuples} />
      <h2>Newest tuples</h2>
      <ProblemLine text={sample.problem} />
      {sample.value?.rows.length === 0 && (
        <p class="empty">
          No tuple has arrived.{" "}
          {takesTuples && (
            <>
              Send some from here, or from a program: <code>POST /api/streams/{stream.name}/events/</code>, or
              XADD to its Redis stream.
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
