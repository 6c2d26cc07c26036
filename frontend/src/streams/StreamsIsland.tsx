import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { StreamDocument } from "../api/documents";
import { listStreams, sampleStream } from "../api/endpoints";
import { streamColours } from "../colour/streams";
import { count, rate, span } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { RowsTable } from "../ui/RowsTable";
import { StreamChip } from "../ui/StreamChip";
import { useLoaded } from "../ui/useLoaded";
import { entryRate, useEntryRates } from "./entryRates";

const REFRESH_MS = 3000;
const SAMPLE_ROWS = 20;

/** All streams, or one with its columns and newest tuples. */
export function StreamsIsland({ stream }: IslandProps): JSX.Element {
  const streams = useLoaded(listStreams, REFRESH_MS);
  const rates = useEntryRates(streams.value);
  const colour = useMemo(() => streamColours((streams.value ?? []).map((entry) => entry.name)), [streams.value]);
  const chosen = stream === null ? null : (streams.value?.find((entry) => entry.name === stream) ?? null);
  return (
    <section class="streams">
      {streams.problem !== null && <p class="problem-line" role="alert">{streams.problem}</p>}
      {streams.value?.length === 0 && (
        <p class="empty">No stream yet. Register one with a POST to <a href="/api/docs/">/api/streams/</a>: a name, its columns, and which of them is the event time.</p>
      )}
      {streams.value !== null && stream !== null && chosen === null && <p class="problem-line" role="alert">No stream is called {stream}. <a href="/streams/">All streams</a></p>}
      {chosen !== null && <StreamDetail stream={chosen} arriving={entryRate(rates, chosen.name)} colour={colour} />}
      {stream === null && streams.value !== null && streams.value.length > 0 && (
        <div class="table-scroll">
          <table class="list stack">
            <thead>
              <tr>
                <th scope="col">Stream</th>
                <th scope="col" class="number" title="tuples per second of event time, as declared">Declared rate</th>
                <th scope="col" class="number" title="entries per second that reach Redis now">Arriving</th>
                <th scope="col" class="number" title="what lies in Redis">Entries</th>
                <th scope="col" class="wide">Event time</th>
                <th scope="col" class="wide">Late after</th>
                <th scope="col" class="number">Queries</th>
              </tr>
            </thead>
            <tbody>
              {streams.value.map((entry) => (
                <tr key={entry.name}>
                  <td>
                    <StreamChip stream={entry.name} colour={colour} href={`/streams/${encodeURIComponent(entry.name)}/`} />
                    <div class="muted clip">{entry.description}</div>
                  </td>
                  <td class="number" data-label="declared">{rate(entry.tuples_per_second)}</td>
                  <td class="number" data-label="arriving">{rate(entryRate(rates, entry.name))}</td>
                  <td class="number" data-label="entries">{count(entry.entries)}</td>
                  <td class="wide mono">{entry.event_time}</td>
                  <td class="wide">{span(entry.lateness_ms)}</td>
                  <td class="number" data-label="queries"><a href={`/queries/?search=${encodeURIComponent(`stream:${entry.name}`)}`}>{count(entry.query_count)}</a></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function StreamDetail({ stream, arriving, colour }: { stream: StreamDocument; arriving: number | null; colour: ReturnType<typeof streamColours> }): JSX.Element {
  const sample = useLoaded(() => sampleStream(stream.name, SAMPLE_ROWS), REFRESH_MS, stream.name);
  return (
    <>
      <div class="toolbar">
        <StreamChip stream={stream.name} colour={colour} />
        <span>{stream.description}</span>
        <span class="grow" />
        <a class="button" href="/streams/">All streams</a>
      </div>
      <dl class="numbers">
        <div><dt>declared</dt><dd>{rate(stream.tuples_per_second)}</dd></div>
        <div><dt>arriving</dt><dd>{rate(arriving)}</dd></div>
        <div><dt>entries</dt><dd>{count(stream.entries)}</dd></div>
        <div><dt>late after</dt><dd>{span(stream.lateness_ms)}</dd></div>
        <div><dt>late tuples</dt><dd>{stream.late === "drop" ? "dead letters" : "joined, marked"}</dd></div>
        <div><dt>tasks</dt><dd>{stream.parallelism === null ? "auto" : count(stream.parallelism)}</dd></div>
      </dl>
      <h2>Columns</h2>
      <p class="chips">
        {stream.columns.map((column) => (
          <span key={column.name} class="chip mono">{column.name} <span class="muted">{column.type}{column.name === stream.event_time ? " · event time" : ""}</span></span>
        ))}
      </p>
      <h2>Newest tuples</h2>
      {sample.problem !== null && <p class="problem-line">{sample.problem}</p>}
      {sample.value?.rows.length === 0 && (
        <p class="empty">No tuple has arrived. Send one: <code>POST /api/streams/{stream.name}/events/</code>, or XADD to its Redis stream.</p>
      )}
      {sample.value !== null && sample.value.rows.length > 0 && <RowsTable columns={sample.value.columns} rows={sample.value.rows} caption={`Newest tuples of ${stream.name}`} />}
    </>
  );
}
