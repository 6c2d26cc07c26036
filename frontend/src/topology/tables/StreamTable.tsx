import type { JSX } from "preact";
import type { StreamColour } from "../../colour/streams";
import { count, instant, rate, span } from "../../format/quantities";
import type { Live } from "../../live/useFeed";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { type StreamRow, streamRows } from "../../plan/steps";
import { StreamChip } from "../../ui/StreamChip";
import { LongTable, type SortedColumn } from "../../ui/table/LongTable";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
}

const COLUMNS: readonly SortedColumn<StreamRow>[] = [
  {
    label: "Rate",
    kind: "number",
    title: "over the newest epoch, per second of event time",
    value: (row) => row.rate,
    cell: (row) => rate(row.rate),
  },
  {
    label: "Accepted",
    kind: "number",
    title: "in the newest batch",
    value: (row) => row.accepted,
    cell: (row) => count(row.accepted),
  },
  {
    label: "Late",
    kind: "number",
    title: "in the newest batch: older than the watermark",
    value: (row) => row.late,
    cell: (row) => count(row.late),
  },
  {
    label: "Undecodable",
    kind: "number",
    title: "in the newest batch",
    value: (row) => row.undecodable,
    cell: (row) => count(row.undecodable),
  },
  {
    label: "Allowed lateness",
    kind: "number",
    title: "how much older than the newest tuple a tuple may be",
    value: (row) => row.latenessMs,
    cell: ({ latenessMs }) => (latenessMs === 0 ? "none" : span(latenessMs)),
  },
  {
    label: "Newest event (UTC)",
    short: "newest event",
    value: (row) => row.newest,
    cell: (row) => instant(row.newest),
  },
  {
    label: "Watermark (UTC)",
    short: "watermark",
    title: "what is older is late",
    value: (row) => row.watermark,
    cell: (row) => instant(row.watermark),
  },
];

/** What each stream brings, and how far it is. */
export function StreamTable({ graph, live, colour }: Props): JSX.Element {
  const rows = streamRows(graph, live.snapshot?.batch ?? null, live.snapshot?.statistics ?? null);
  const columns: readonly SortedColumn<StreamRow>[] = [
    {
      label: "Stream",
      value: (row) => row.name,
      cell: ({ name, history }) => (
        <>
          <StreamChip stream={name} colour={colour} />
          {history !== "" && <div class="muted small">{history}</div>}
        </>
      ),
    },
    ...COLUMNS,
  ];
  const nameOf = (row: StreamRow): string => row.name;
  return <LongTable caption="Streams" columns={columns} rows={rows} rowKey={nameOf} text={nameOf} />;
}
