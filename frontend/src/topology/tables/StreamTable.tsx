import type { JSX } from "preact";
import type { StreamColour } from "../../colour/streams";
import { count, instant, rate, span } from "../../format/quantities";
import type { Live } from "../../live/useFeed";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { type StreamRow, streamRows } from "../../plan/steps";
import { StreamChip } from "../../ui/StreamChip";
import { type Column, LongTable } from "../../ui/table/LongTable";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
}

const COLUMNS: readonly Column<StreamRow>[] = [
  { key: "stream", label: "Stream", value: (row) => row.name },
  {
    key: "rate",
    label: "Rate",
    number: true,
    title: "over the newest epoch, per second of event time",
    value: (row) => row.rate,
  },
  {
    key: "accepted",
    label: "Accepted",
    number: true,
    title: "in the newest batch",
    value: (row) => row.accepted,
  },
  {
    key: "late",
    label: "Late",
    number: true,
    title: "in the newest batch: older than the watermark",
    value: (row) => row.late,
  },
  {
    key: "undecodable",
    label: "Undecodable",
    number: true,
    title: "in the newest batch",
    value: (row) => row.undecodable,
  },
  {
    key: "lateness",
    label: "Allowed lateness",
    number: true,
    title: "how much older than the newest tuple a tuple may be",
    value: (row) => row.latenessMs,
  },
  { key: "newest", label: "Newest event (UTC)", value: (row) => row.newest },
  {
    key: "watermark",
    label: "Watermark (UTC)",
    title: "what is older is late",
    value: (row) => row.watermark,
  },
];

/** What each stream brings, and how far it is. */
export function StreamTable({ graph, live, colour }: Props): JSX.Element {
  const rows = streamRows(graph, live.snapshot?.batch ?? null, live.snapshot?.statistics ?? null);
  return (
    <LongTable caption="Streams" class="stack" columns={COLUMNS} rows={rows} text={(row) => row.name}>
      {(row) => (
        <tr key={row.name} data-stream={row.name}>
          <td>
            <StreamChip stream={row.name} colour={colour} />
          </td>
          <td class="number" data-label="rate">
            {rate(row.rate)}
          </td>
          <td class="number" data-label="accepted">
            {count(row.accepted)}
          </td>
          <td class="number" data-label="late">
            {count(row.late)}
          </td>
          <td class="number" data-label="undecodable">
            {count(row.undecodable)}
          </td>
          <td class="number" data-label="allowed lateness">
            {row.latenessMs === 0 ? "none" : span(row.latenessMs)}
          </td>
          <td data-label="newest event">{instant(row.newest)}</td>
          <td data-label="watermark">{instant(row.watermark)}</td>
        </tr>
      )}
    </LongTable>
  );
}
