import type { JSX } from "preact";
import { count, instant, rate, span } from "../../format/quantities";
import type { EpochPoint } from "../../live/messages";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { elementLabel } from "../../plan/steps";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";
import { Cores } from "./Cores";
import { QError } from "./StepTable";

interface Props {
  readonly epochs: readonly EpochPoint[];
  /** Of the running plan: elements of other plans go by their ids. */
  readonly graph: PhysicalGraph | null;
}

type Worst = NonNullable<EpochPoint["q_error"]>;

function worstText(graph: PhysicalGraph | null, { worst, estimated, actual }: Worst): string {
  const element = graph === null ? worst : elementLabel(graph, worst);
  return `${element}: ${rate(estimated)} estimated, ${rate(actual)} actual`;
}

/**
 * Every epoch that the page still knows, newest first: how far its plan's estimates were from what happened.
 */
export function EpochErrors({ epochs, graph }: Props): JSX.Element {
  const columns: readonly Column<EpochPoint>[] = [
    { label: "Epoch", kind: "number", cell: (point) => point.epoch },
    { label: "Ended (UTC)", short: "ended", class: "instant", cell: (point) => instant(point.at) },
    { label: "Batches", kind: "number", cell: (point) => `${point.first_batch}–${point.last_batch}` },
    { label: "Plan", short: "plan", class: "mono plan-id", cell: (point) => point.plan_id },
    {
      label: "Tuples sent",
      short: "sent",
      kind: "number",
      title: "in order to probe, copies included",
      cell: (point) => count(point.sent),
    },
    { label: "Event time", kind: "number", cell: (point) => span(point.event_seconds * 1000) },
    {
      label: "Off by: median",
      short: "off by, median",
      kind: "number",
      title: "q-error over all steps: the larger of estimate and actual over the smaller",
      cell: ({ q_error }) => <QError value={q_error?.median ?? null} />,
    },
    { label: "most", kind: "number", cell: ({ q_error }) => <QError value={q_error?.max ?? null} /> },
    {
      label: "Cores",
      kind: "number",
      title: "of all tasks and the driver, without Spark's own processes; red where more than 1.5 times off",
      cell: ({ total_cores }) => <Cores use={total_cores} />,
    },
    {
      label: "Furthest off",
      cell: ({ q_error }) => (q_error === null ? "event time did not advance" : worstText(graph, q_error)),
    },
  ];
  if (epochs.length === 0)
    return (
      <p class="empty">
        No epoch has ended yet. Estimates are compared with actuals at the end of each epoch.
      </p>
    );
  return (
    <ScrollArea label="Estimates by epoch">
      <Table columns={columns} rows={[...epochs].reverse()} rowKey={({ epoch }) => epoch} />
    </ScrollArea>
  );
}
