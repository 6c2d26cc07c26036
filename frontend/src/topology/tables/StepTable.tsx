import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { bytes, count, milliseconds, rate } from "../../format/quantities";
import type { Live } from "../../live/useFeed";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { type Compared, type StepRow, stepRows } from "../../plan/steps";
import { type Column, LongTable } from "../../ui/table/LongTable";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
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

function Rates({ compared, name }: { compared: Compared; name: string }): JSX.Element {
  return (
    <>
      <td class="number" data-label={`${name} estimated`}>
        {rate(compared.estimated)}
      </td>
      <td class="number" data-label={`${name} actual`}>
        {rate(compared.actual)}
      </td>
      <td class="number" data-label="off by">
        <QError value={compared.qError} />
      </td>
    </>
  );
}

/** The columns that `Rates` fills. */
function comparing(key: string, label: string, of: (row: StepRow) => Compared): readonly Column<StepRow>[] {
  return [
    {
      key: `${key}-estimated`,
      label: `${label}: estimated`,
      number: true,
      title: "what the plan was chosen for, per second of event time",
      value: (row) => of(row).estimated,
    },
    {
      key: `${key}-actual`,
      label: "actual",
      number: true,
      title: "over the newest epoch, per second of event time",
      value: (row) => of(row).actual,
    },
    {
      key: `${key}-off`,
      label: "off by",
      number: true,
      title: "q-error: the larger over the smaller",
      value: (row) => of(row).qError,
    },
  ];
}

const COLUMNS: readonly Column<StepRow>[] = [
  { key: "step", label: "Step", value: (row) => `${row.from} ${row.to}` },
  { key: "level", label: "Level", number: true, value: (row) => row.level },
  { key: "kind", label: "Sent to", value: (row) => KINDS[row.kind] },
  {
    key: "tuples",
    label: "Tuples",
    number: true,
    title: "in the newest batch, before copies",
    value: (row) => row.tuples,
  },
  {
    key: "messages",
    label: "Messages",
    number: true,
    title: "in the newest batch",
    value: (row) => row.messages,
  },
  {
    key: "bytes",
    label: "Bytes",
    number: true,
    title: "in the newest batch, before copies",
    value: (row) => row.bytes,
  },
  ...comparing("sent", "Sent", (row) => row.sent),
  ...comparing("found", "Found", (row) => row.made),
];

/**
 * One row per step of the probe orders: what it was sent in the newest batch, and estimates beside actuals.
 */
export function StepTable({ graph, live }: Props): JSX.Element {
  const batch = live.snapshot?.batch ?? null;
  const levels = batch?.level_seconds ?? [];
  const statistics = live.snapshot?.statistics ?? null;
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
        class="stack"
        columns={COLUMNS}
        rows={rows}
        text={(row) => [row.id, row.from, row.what, row.to].join("\n")}
      >
        {(row) => (
          <tr key={row.id} data-step={row.id}>
            <td>
              {row.from} <span class="muted">{row.what === "stores" ? "stored in" : "probes"}</span> {row.to}
            </td>
            <td class="number" data-label="level">
              {row.level}
            </td>
            <td data-label="sent to">{KINDS[row.kind]}</td>
            <td class="number" data-label="tuples">
              {count(row.tuples)}
            </td>
            <td class="number" data-label="messages">
              {count(row.messages)}
            </td>
            <td class="number" data-label="bytes">
              {bytes(row.bytes)}
            </td>
            <Rates compared={row.sent} name="sent" />
            <Rates compared={row.made} name="found" />
          </tr>
        )}
      </LongTable>
    </>
  );
}
