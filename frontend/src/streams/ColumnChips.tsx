import type { JSX } from "preact";
import type { StreamDocument } from "../api/documents";

/** The columns of a stream with their types, and what they are of it beside. */
export function ColumnChips({ stream }: { readonly stream: StreamDocument }): JSX.Element {
  return (
    <p class="chips">
      {stream.columns.map(({ name, type }) => (
        <span key={name} class="chip mono">
          {name} <span class="muted">{[type, ...partsOf(stream, name)].join(" · ")}</span>
        </span>
      ))}
    </p>
  );
}

/** What a column says of each tuple: when, of which row, and whether it deletes that. */
function partsOf({ event_time, key, deleted }: StreamDocument, column: string): string[] {
  return [
    ...(column === event_time ? ["event time"] : []),
    ...(key.includes(column) ? ["key"] : []),
    ...(column === deleted ? ["deletes"] : []),
  ];
}
