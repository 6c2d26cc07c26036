import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument, SampleRows, StreamDocument } from "../../api/documents";
import { answered, at, client, explainError } from "../../api/request";
import type { StreamColour } from "../../colour/streams";
import { rate, span } from "../../format/quantities";
import { SearchField } from "../../ui/fields";
import { ProblemLine } from "../../ui/ProblemLine";
import { RowsTable } from "../../ui/table/RowsTable";

interface Props {
  readonly streams: readonly StreamDocument[] | null;
  readonly queries: readonly QueryDocument[];
  readonly problem: string | null;
  readonly colour: StreamColour;
  readonly onInsert: (text: string) => void;
}

const SAMPLE_ROWS = 8;

/** Left pane: what can be read. A click writes the name into the query. */
export function SchemaPane({ streams, queries, problem, colour, onInsert }: Props): JSX.Element {
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const shown = (streams ?? []).filter(
    (stream) =>
      wanted === "" ||
      [stream.name, ...stream.columns.map((column) => column.name)].some((name) =>
        name.toLowerCase().includes(wanted),
      ),
  );
  return (
    <aside class="pane schema" aria-label="Streams and columns">
      <h2>Streams &amp; columns</h2>
      <SearchField
        label="Filter streams and columns"
        placeholder="Filter"
        value={filter}
        onValue={setFilter}
      />
      <ProblemLine text={problem} />
      {streams?.length === 0 && (
        <p class="empty">
          No stream yet. <a href="/streams/">Register one</a> before writing a query.
        </p>
      )}
      {streams !== null && streams.length > 0 && shown.length === 0 && (
        <p class="empty">No stream or column is called that.</p>
      )}
      {shown.map((stream) => (
        <StreamSchema key={stream.name} stream={stream} colour={colour} onInsert={onInsert} />
      ))}
      {queries.length > 0 && (
        <details class="schema-item">
          <summary>
            Queries, readable as views <span class="muted">{queries.length}</span>
          </summary>
          <ul>
            {queries.map((query) => (
              <li key={query.id}>
                <button type="button" class="column" onClick={() => onInsert(query.name)}>
                  {query.name}
                </button>
              </li>
            ))}
          </ul>
        </details>
      )}
    </aside>
  );
}

function StreamSchema({
  stream,
  colour,
  onInsert,
}: {
  stream: StreamDocument;
  colour: StreamColour;
  onInsert: (text: string) => void;
}): JSX.Element {
  const [sample, setSample] = useState<SampleRows | string | null>(null);
  const look = (): void => {
    if (sample !== null) {
      setSample(null);
      return;
    }
    setSample("…");
    answered(
      client.GET("/api/streams/{name}/sample/", at({ name: stream.name }, { limit: SAMPLE_ROWS })),
    ).then(setSample, (error: unknown) => setSample(explainError(error)));
  };
  return (
    <details class="schema-item" open>
      <summary>
        <span class="dot" style={{ background: colour(stream.name) }} aria-hidden="true" />
        <strong>{stream.name}</strong> <span class="muted">{rate(stream.tuples_per_second)}</span>
      </summary>
      <ul>
        {stream.columns.map((column) => (
          <li key={column.name}>
            <button
              type="button"
              class="column"
              title={`Insert ${column.name} (${column.type})`}
              onClick={() => onInsert(column.name)}
            >
              <span>{column.name}</span>
              <span class="muted">{column.name === stream.event_time ? "event time" : column.type}</span>
            </button>
          </li>
        ))}
      </ul>
      <p class="muted small">
        late after {span(stream.lateness_ms)} ·{" "}
        <button type="button" class="link" onClick={look} aria-expanded={sample !== null}>
          sample rows
        </button>
      </p>
      {typeof sample === "string" && <p class="muted small">{sample}</p>}
      {sample !== null &&
        typeof sample !== "string" &&
        (sample.rows.length === 0 ? (
          <p class="muted small">No tuple has arrived yet.</p>
        ) : (
          <RowsTable
            columns={sample.columns}
            rows={sample.rows}
            caption={`Newest tuples of ${stream.name}`}
          />
        ))}
    </details>
  );
}
