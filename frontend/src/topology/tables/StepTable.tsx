import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Costs } from "../../api/documents";
import { bytes, coresText, count, milliseconds, rate } from "../../format/quantities";
import type { Live } from "../../live/useFeed";
import { costText } from "../../plan/costText";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { type Compared, type StepRow, stepRows } from "../../plan/steps";
import { LongTable, type SortedColumn } from "../../ui/table/LongTable";
import { Cores, ESTIMATED_CORES, MEASURED_CORES } from "./Cores";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly costs: Costs | null;
}

const KINDS = {
  shuffle: "one task",
  group_by: "by key",
  all: "all tasks",
  slices: "by time",
  grid: "one row of tasks",
  home: "back home",
  group: "by group",
} as const;
/** From here on an estimate is called wrong rather than rough. */
const FAR_OFF = 10;

/** How far an estimate is from what happened, as a number and for a glance. */
export function QError({ value }: { value: number | null }): JSX.Element {
  return (
    <span class={value !== null && value >= FAR_OFF ? "far-off" : ""}>
      {value === null ? "–" : `×${value < 100 ? value.toFixed(1) : count(value)}`}
    </span>
  );
}

/** An estimate, what happened, and how far apart they are. */
function comparing(label: string, of: (row: StepRow) => Compared): readonly SortedColumn<StepRow>[] {
  return [
    {
      label: `${label}: estimated`,
      short: `${label.toLowerCase()} estimated`,
      kind: "number",
      title: "what the plan was chosen for, per second of event time",
      value: (row) => of(row).estimated,
      cell: (row) => rate(of(row).estimated),
    },
    {
      label: "actual",
      short: `${label.toLowerCase()} actual`,
      kind: "number",
      title: "over the newest epoch, per second of event time",
      value: (row) => of(row).actual,
      cell: (row) => rate(of(row).actual),
    },
    {
      label: "off by",
      kind: "number",
      title: "q-error: the larger over the smaller",
      value: (row) => of(row).qError,
      cell: (row) => <QError value={of(row).qError} />,
    },
  ];
}

const columnsOf = (costs: Costs | null): readonly SortedColumn<StepRow>[] => [
  {
    label: "Step",
    value: (row) => `${row.from} ${row.to}`,
    cell: (row) => (
      <>
        {row.from} <span class="muted">{row.what === "stores" ? "stored in" : "probes"}</span> {row.to}
      </>
    ),
  },
  { label: "Level", kind: "number", value: (row) => row.level, cell: (row) => row.level },
  { label: "Sent to", short: "sent to", value: (row) => KINDS[row.kind], cell: (row) => KINDS[row.kind] },
  {
    label: "Cost",
    short: "cost",
    kind: "number",
    title: "by the plan's statistics; of what is stored, all that its store costs",
    value: (row) => costs?.elements[row.priced] ?? null,
    cell: (row) => costText(costs, costs?.elements[row.priced]),
  },
  {
    label: "Tuples",
    kind: "number",
    title: "in the newest batch, before copies",
    value: (row) => row.tuples,
    cell: (row) => count(row.tuples),
  },
  {
    label: "Messages",
    kind: "number",
    title: "in the newest batch",
    value: (row) => row.messages,
    cell: (row) => count(row.messages),
  },
  {
    label: "Bytes",
    kind: "number",
    title: "in the newest batch, before copies",
    value: (row) => row.bytes,
    cell: (row) => bytes(row.bytes),
  },
  ...comparing("Sent", (row) => row.sent),
  ...comparing("Found", (row) => row.made),
  {
    label: "Cores: estimated",
    short: "cores estimated",
    kind: "number",
    title: ESTIMATED_CORES,
    value: (row) => row.cores?.estimated ?? null,
    cell: (row) => coresText(row.cores?.estimated),
  },
  {
    label: "measured",
    short: "cores measured",
    kind: "number",
    title: MEASURED_CORES,
    value: (row) => row.cores?.measured ?? null,
    cell: (row) => <Cores use={row.cores} />,
  },
];

/**
 * One row per step of the probe orders: what it was sent in the newest batch, and estimates beside actuals.
 */
export function StepTable({ graph, live, costs }: Props): JSX.Element {
  const batch = live.snapshot?.batch ?? null;
  const levels = batch?.level_seconds ?? [];
  const statistics = live.snapshot?.statistics ?? null;
  const columns = useMemo(() => columnsOf(costs), [costs]);
  const rows = useMemo(() => stepRows(graph, batch, statistics), [graph, batch, statistics]);
  return (
    <>
      <p class="muted small" title="the slowest task of each level, in the newest batch">
        {levels.length === 0
          ? statistics === null
            ? "No batch yet."
            : `Over epoch ${statistics.epoch}.`
          : levels
              .map(
                (seconds, level) =>
                  `${level === 0 ? "ingestion" : `level ${level}`} ${milliseconds(seconds * 1000)}`,
              )
              .join(" · ")}
      </p>
      <LongTable
        caption="Steps"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.id}
        text={(row) => [row.id, row.from, row.what, row.to].join("\n")}
      />
    </>
  );
}
