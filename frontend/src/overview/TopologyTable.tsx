import type { JSX } from "preact";
import type { OverviewDocument, WatchedTopology } from "../api/documents";
import { cores, count, milliseconds, percent, rate, span, UNKNOWN } from "../format/quantities";
import type { Sharing } from "../plan/sharing";
import { Measured } from "../ui/Measured";
import { StatusBadge } from "../ui/StatusBadge";
import { ScrollArea } from "../ui/table/ScrollArea";
import { type Column, Table } from "../ui/table/Table";
import { type Figures, figuresOf } from "./figures";

interface Props {
  /** Null until the first answer. */
  readonly overview: OverviewDocument | null;
  readonly plans: ReadonlyMap<string, Sharing>;
}

interface Row {
  readonly watched: WatchedTopology;
  readonly figures: Figures;
  /** Null without a plan, or until it is loaded. */
  readonly sharing: Sharing | null;
}

/** What each topology does and saves, one row each, by name. */
export function TopologyTable({ overview, plans }: Props): JSX.Element {
  const rows = (overview?.topologies ?? []).map((watched): Row => {
    const sharing = plans.get(watched.topology.plan_id ?? "") ?? null;
    return { watched, figures: figuresOf(watched, overview?.at ?? ""), sharing };
  });
  return (
    <div class="topology-rows">
      <ScrollArea label="Topologies">
        <Table columns={COLUMNS} rows={rows} rowKey={({ watched }) => watched.topology.name} />
      </ScrollArea>
    </div>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    label: "Topology",
    cell: ({ watched: { topology } }) => (
      <>
        <a class="row-link" href={`/topologies/${encodeURIComponent(topology.name)}/`}>
          {topology.name}
        </a>
        <div>
          <StatusBadge state={topology.state} title={topology.error} />
        </div>
      </>
    ),
  },
  { label: "Queries", kind: "number", cell: ({ watched }) => count(watched.topology.queries.length) },
  { label: "Streams", kind: "number", cell: ({ watched }) => count(watched.topology.streams.length) },
  { label: "Stores", kind: "number", cell: ({ sharing }) => count(sharing?.stores) },
  {
    label: "Shared steps",
    kind: "number",
    title: "probes that several queries need, of all probes",
    cell: ({ sharing }) =>
      sharing === null ? UNKNOWN : `${count(sharing.sharedSteps)} of ${count(sharing.steps)}`,
  },
  {
    label: "In",
    kind: "number",
    title: "tuples read per second of wall time, over the newest batches",
    cell: ({ watched, figures }) => (
      <Line
        watched={watched}
        text={rate(figures.tuplesIn)}
        label="Tuples read"
        value={(point) => point.tuples_in}
      />
    ),
  },
  {
    label: "Results",
    kind: "number",
    title: "results per second of wall time, over the newest batches",
    cell: ({ watched, figures }) => (
      <Line watched={watched} text={rate(figures.results)} label="Results" value={(point) => point.results} />
    ),
  },
  {
    label: "p50",
    kind: "number",
    title: "from a tuple's arrival to the commit of its results: the median of the last minute's results",
    cell: ({ figures }) => milliseconds(figures.p50),
  },
  {
    label: "p99",
    kind: "number",
    title: "99th percentile of the same",
    cell: ({ figures }) => milliseconds(figures.p99),
  },
  {
    label: "Lag",
    kind: "number",
    title: "of input that waits at the sources, at the rate at which it is read",
    cell: ({ figures: { lag } }) => (lag === 0 ? "0 s" : span(lag === null ? null : lag * 1000)),
  },
  {
    label: "Sharing saves",
    kind: "number",
    title: "estimated, against a topology with a job of its own for each query",
    cell: (row) => <Saved {...row} />,
  },
];

interface LineProps {
  readonly watched: WatchedTopology;
  readonly text: string;
  readonly label: string;
  readonly value: (point: WatchedTopology["history"][number]) => number | null;
}

function Line({ watched: { topology, history }, text, label, value }: LineProps): JSX.Element {
  return (
    <Measured
      label={`${label} of ${topology.name}`}
      text={text}
      values={history.map(value)}
      title={`${label} by ${topology.name} in each of the last ${history.length} batches`}
      colour="var(--accent)"
    />
  );
}

function Saved({ watched, sharing }: Row): JSX.Element {
  const saved = watched.topology.cost === "cores" ? cores(sharing?.saved) : rate(sharing?.saved);
  return (
    <>
      <div>{saved}</div>
      <div class="muted">{percent(sharing?.savedPart)}</div>
    </>
  );
}
