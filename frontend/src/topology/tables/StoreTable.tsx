import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ChartHost } from "../../charts/ChartHost";
import { createSkewBars } from "../../charts/skewBars";
import { createSparkline } from "../../charts/sparkline";
import type { StreamColour } from "../../colour/streams";
import { bytes, count } from "../../format/quantities";
import type { StorePoint } from "../../live/messages";
import type { Live } from "../../live/useFeed";
import { skewOf } from "../../plan/bottlenecks";
import type { GraphStore, PhysicalGraph } from "../../plan/physicalGraph";
import { storeCompared } from "../../plan/steps";
import { type Column, LongTable } from "../../ui/table/LongTable";
import { QError } from "./StepTable";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
}

type Measure = "tuples" | "bytes" | "inserted" | "probes" | "matches" | "evicted";

const MEASURES: readonly {
  key: Measure;
  label: string;
  title: string;
  format: (value: number | null) => string;
}[] = [
  { key: "tuples", label: "Tuples", title: "held now", format: count },
  { key: "bytes", label: "Bytes", title: "held now", format: bytes },
  { key: "inserted", label: "Inserts", title: "in the newest batch", format: count },
  {
    key: "probes",
    label: "Probes",
    title: "probing tuples in the newest batch, copies included",
    format: count,
  },
  { key: "matches", label: "Matches", title: "in the newest batch", format: count },
  { key: "evicted", label: "Evictions", title: "in the newest batch", format: count },
];

/** One row per store, drawn anew with every batch. */
export function StoreTable({ graph, live, colour }: Props): JSX.Element {
  const batch = live.snapshot?.batch ?? null;
  const statistics = live.snapshot?.statistics ?? null;
  const columns: readonly Column<GraphStore>[] = [
    { key: "store", label: "Store", value: (store) => store.label },
    ...MEASURES.map(
      (measure): Column<GraphStore> => ({
        ...measure,
        number: true,
        value: (store) => batch?.stores[store.id]?.[measure.key] ?? null,
      }),
    ),
    {
      key: "estimated",
      label: "Estimated",
      number: true,
      title: "tuples that the plan was chosen for, and how far off the newest epoch's average is",
      value: (store) => storeCompared(graph, store.id, statistics).estimated,
    },
    {
      key: "skew",
      label: "Skew",
      title: "tuples of each task; fullest over mean",
      largestFirst: true,
      value: (store) => skewOf(batch?.stores[store.id]?.per_task ?? []),
    },
  ];
  return (
    <LongTable
      caption="Stores"
      class="stores"
      columns={columns}
      rows={graph.stores}
      text={(store) => [store.label, store.id, ...store.inputs.map((input) => input.stream)].join("\n")}
    >
      {(store) => <StoreRow key={store.id} store={store} graph={graph} live={live} colour={colour} />}
    </LongTable>
  );
}

function StoreRow({
  store,
  graph,
  live,
  colour,
}: {
  store: GraphStore;
  graph: PhysicalGraph;
  live: Live;
  colour: StreamColour;
}): JSX.Element {
  const own = store.inputs.length === 1 ? colour(store.inputs[0]?.stream ?? "") : "var(--text)";
  const history = live.snapshot?.store_history;
  const series = useMemo(
    () => (history ?? []).map((point): StorePoint | null => point.stores[store.id] ?? null),
    [history, store.id],
  );
  const newest = live.snapshot?.batch?.stores[store.id] ?? null;
  const expected = storeCompared(graph, store.id, live.snapshot?.statistics ?? null);
  const skew = newest === null ? null : skewOf(newest.per_task);
  return (
    <tr data-store={store.id}>
      <th scope="row">
        {store.inputs.map((input) => (
          <span
            key={input.input}
            class="dot"
            style={{ background: colour(input.stream) }}
            aria-hidden="true"
          />
        ))}{" "}
        {store.label}
        <div class="muted small">
          {store.tasks} {store.tasks === 1 ? "task" : "tasks"}
        </div>
      </th>
      {MEASURES.map((measure) => (
        <MeasureCell
          key={measure.key}
          label={`${measure.label} of ${store.label}`}
          values={series.map((metrics) => metrics?.[measure.key] ?? null)}
          format={measure.format}
          colour={own}
        />
      ))}
      <td class="number">
        <div class="measure">{count(expected.estimated)}</div>
        <div class="small muted">
          {expected.actual === null ? (
            "no epoch yet"
          ) : (
            <>
              held {count(expected.actual)}, off by <QError value={expected.qError} />
            </>
          )}
        </div>
      </td>
      <td>
        <SkewCell perTask={newest?.per_task ?? null} colour={own} label={store.label} />
        <div class="small muted">
          {store.tasks === 1 ? "one task" : skew === null ? "–" : `×${skew.toFixed(2)}`}
        </div>
      </td>
    </tr>
  );
}

function MeasureCell({
  label,
  values,
  format,
  colour,
}: {
  label: string;
  values: (number | null)[];
  format: (value: number | null) => string;
  colour: string;
}): JSX.Element {
  const newest = values.at(-1) ?? null;
  const data = useMemo(
    () => ({ values, colour, title: `${label}: ${format(newest)} now, ${values.length} batches shown` }),
    [values.join(","), colour],
  );
  return (
    <td class="number">
      <div class="measure">{format(newest)}</div>
      <ChartHost create={createSparkline} data={data} class="spark-host" label={label} />
    </td>
  );
}

function SkewCell({
  perTask,
  colour,
  label,
}: {
  perTask: readonly number[] | null;
  colour: string;
  label: string;
}): JSX.Element {
  const data = useMemo(() => ({ perTask: perTask ?? [], colour }), [perTask, colour]);
  return <ChartHost create={createSkewBars} data={data} class="spark-host" label={`Tasks of ${label}`} />;
}
