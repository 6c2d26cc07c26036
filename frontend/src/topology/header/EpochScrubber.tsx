import type { JSX } from "preact";
import { count, instant, span } from "../../format/quantities";
import type { EpochPoint } from "../../live/messages";
import { QError } from "../tables/StepTable";

interface Props {
  /** Oldest first. */
  readonly epochs: readonly EpochPoint[];
  /** The epoch that is looked at; null for now. */
  readonly epoch: number | null;
  /** Null goes back to now. */
  readonly onChoose: (point: EpochPoint | null) => void;
}

/** Goes back epoch by epoch, with the pointer or the arrow keys; its right end is now. */
export function EpochScrubber({ epochs, epoch, onChoose }: Props): JSX.Element {
  const found = epochs.findIndex((point) => point.epoch === epoch);
  const place = found < 0 ? epochs.length : found;
  const point = epochs[place];
  const text =
    point === undefined ? "now" : `epoch ${point.epoch}, batches ${point.first_batch} to ${point.last_batch}`;
  return (
    <div class="scrubber">
      <label class="inline">
        <span class="muted">Look back</span>
        <input
          type="range"
          min={0}
          max={epochs.length}
          step={1}
          value={place}
          disabled={epochs.length === 0}
          aria-valuetext={text}
          onInput={(event) => onChoose(epochs[Number(event.currentTarget.value)] ?? null)}
        />
      </label>
      <span class="small" role="status">
        {point === undefined ? (
          epochs.length === 0 ? (
            "now: no epoch has ended yet"
          ) : (
            "now"
          )
        ) : (
          <>
            {text}{" "}
            <span class="muted">
              · ended {instant(point.at)} UTC · {span(point.event_seconds * 1000)} of event time ·{" "}
              {count(point.sent)} tuples sent · estimates off by{" "}
              <QError value={point.q_error?.median ?? null} />
            </span>
          </>
        )}
      </span>
    </div>
  );
}
