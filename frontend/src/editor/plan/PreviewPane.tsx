import type { JSX } from "preact";
import type { Preview } from "../../api/documents";
import { answered, client } from "../../api/request";
import { count, instant, milliseconds } from "../../format/quantities";
import { Button } from "../../ui/Button";
import { ProblemLine } from "../../ui/ProblemLine";
import { RowsTable } from "../../ui/table/RowsTable";
import { useLoaded } from "../../ui/useLoaded";

interface Props {
  readonly asked: { readonly sql: string };
  readonly name: string | null;
  /** True if the editor's text is another one by now. */
  readonly changed: boolean;
  readonly onClose: () => void;
}

const ROWS = 50;

/** A draft's results over what Redis still holds, and what exactly that was. */
export function PreviewPane({ asked, name, changed, onClose }: Props): JSX.Element {
  const { value, problem } = useLoaded(
    () =>
      answered(client.POST("/api/sql/preview/", { body: { sql: asked.sql, name: name ?? "", limit: ROWS } })),
    null,
    asked,
  );
  return (
    <section class="preview" aria-label="Preview">
      <div class="toolbar">
        <h2>Preview</h2>
        {value !== null && (
          <span class="muted">
            {value.more
              ? `the newest ${value.rows.length} results`
              : value.rows.length === 1
                ? "one result"
                : `${count(value.rows.length)} results`}{" "}
            in {milliseconds(value.seconds * 1000)}
            {changed ? ", for the text before the last change" : ""}
          </span>
        )}
        <span class="grow" />
        <Button small onClick={onClose}>
          Close
        </Button>
      </div>
      <ProblemLine text={problem} />
      {value === null && problem === null && (
        <p class="muted" role="status">
          Running it over recent tuples…
        </p>
      )}
      {value !== null && (
        <>
          <Sources preview={value} />
          {value.rows.length === 0 ? (
            <p class="empty">These tuples give no results. Try a longer window, or wait for more tuples.</p>
          ) : (
            <RowsTable columns={value.columns} rows={value.rows} caption="Preview of the results" />
          )}
        </>
      )}
    </section>
  );
}

function Sources({ preview }: { preview: Preview }): JSX.Element {
  return (
    <>
      <ul class="sources">
        {preview.sources.map((source) => (
          <li key={source.stream}>
            <strong>{source.stream}</strong>: {source.whole ? "all" : "the newest"} {count(source.tuples)}{" "}
            tuples
            {source.tuples > 0 && (
              <>
                , {instant(source.oldest)} to {instant(source.newest)} UTC
              </>
            )}
            {source.unreadable > 0 && (
              <span class="bad"> · {count(source.unreadable)} could not be read</span>
            )}
          </li>
        ))}
      </ul>
      {preview.complete_from !== null && (
        <p class="muted small">
          Results whose newest tuple is from {instant(preview.complete_from)} UTC on are all found; earlier
          ones may lack partners that were not read.
        </p>
      )}
    </>
  );
}
