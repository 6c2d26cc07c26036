import type { JSX } from "preact";
import { count } from "../../format/quantities";
import type { Snapshot } from "../../live/messages";

interface Props {
  readonly failed: NonNullable<Snapshot["failed_batch"]>;
}

/** That a batch failed repeatedly: that it is searched, or what was set aside and where that is. */
export function FailedBatchLine({ failed }: Props): JSX.Element {
  const streams = Object.entries(failed.set_aside);
  const tuples = streams.reduce((sum, [, number]) => sum + number, 0);
  return (
    <p class="problem-line" role="status">
      ⚠ Batch {failed.batch} failed repeatedly
      {streams.length === 0 ? (
        ". Searching for the tuples that make it fail; the rest of the batch follows."
      ) : (
        <>
          ; {tuples === 1 ? "1 tuple was" : `${count(tuples)} tuples were`} set aside, see the dead letters of{" "}
          {streams.map(([stream], place) => (
            <span key={stream}>
              {place > 0 && ", "}
              <a href={`/streams/${encodeURIComponent(stream)}/`}>{stream}</a>
            </span>
          ))}
          . All other tuples were processed.
        </>
      )}{" "}
      <span class="muted small">{failed.error}</span>
    </p>
  );
}
