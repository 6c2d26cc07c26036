import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ChartHost } from "../../charts/ChartHost";
import { createSkewBars } from "../../charts/skewBars";
import type { StreamColour } from "../../colour/streams";
import { bytes, coresText, count, plural } from "../../format/quantities";
import type { CoreUse } from "../../live/messages";
import type { Live } from "../../live/useFeed";
import { skewOf } from "../../plan/bottlenecks";
import { shapeText } from "../../plan/epochs";
import type { GraphStore, PhysicalGraph } from "../../plan/physicalGraph";
import { type Compared, storeCompared } from "../../plan/steps";
import { Measured } from "../../ui/Measured";
import { LongTable, type SortedColumn } from "../../ui/table/LongTable";
import { Cores, MEASURED_CORES } from "./Cores";
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
  const history = live.snapshot?.store_history ?? [];
  const own = ({ inputs }: GraphStore): string =>
    inputs.length === 1 ? colour(inputs[0]?.stream ?? "") : "var(--text)";
  const compared = (store: GraphStore): Compared => storeCompared(graph, store.id, statistics);
  const used = (store: GraphStore): CoreUse | null => statistics?.cores[store.id] ?? null;
  const perTask = (store: GraphStore): readonly number[] | null => batch?.stores[store.id]?.per_task ?? null;
  const columns: readonly SortedColumn<GraphStore>[] = [
    {
      label: "Store",
      names: true,
      value: (store) => store.label,
      cell: (store) => <StoreName store={store} rows={batch?.shapes[store.id]} colour={colour} />,
    },
    ...MEASURES.map(
      ({ key, format, ...heading }): SortedColumn<GraphStore> => ({
        ...heading,
        kind: "number",
        value: (store) => batch?.stores[store.id]?.[key] ?? null,
        cell: (store) => {
          const values = history.map(({ stores }) => stores[store.id]?.[key] ?? null);
          const [label, text] = [`${heading.label} of ${store.label}`, format(values.at(-1) ?? null)];
          return (
            <Measured
              label={label}
              text={text}
              values={values}
              title={`${label}: ${text} now, ${values.length} batches shown`}
              colour={own(store)}
            />
          );
        },
      }),
    ),
    {
      label: "Estimated",
      kind: "number",
      title: "tuples that the plan was chosen for, and how far off the newest epoch's average is",
      value: (store) => compared(store).estimated,
      cell: (store) => <Held compared={compared(store)} />,
    },
    {
      label: "Cores",
      kind: "number",
      title: `of storing, evicting and merging: ${MEASURED_CORES}`,
      value: (store) => used(store)?.measured ?? null,
      cell: (store) => (
        <>
          <Cores use={used(store)} />
          <div class="small muted">{coresText(used(store)?.estimated)} estimated</div>
        </>
      ),
    },
    {
      label: "Skew",
      title: "tuples of each task; fullest over mean",
      largestFirst: true,
      value: (store) => skewOf(perTask(store) ?? []),
      cell: (store) => <Skew store={store} perTask={perTask(store)} colour={own(store)} />,
    },
  ];
  return (
    <LongTable
      caption="Stores"
      class="stores"
      columns={columns}
      rows={graph.stores}
      rowKey={(store) => store.id}
      text={(store) => [store.label, store.id, ...store.inputs.map((input) => input.stream)].join("\n")}
    />
  );
}

function StoreName({
  store,
  rows,
  colour,
}: {
  store: GraphStore;
  rows: readonly number[] | undefined;
  colour: StreamColour;
}): JSX.Element {
  return (
    <>
      {store.inputs.map((input) => (
        <span key={input.input} class="dot" style={{ background: colour(input.stream) }} aria-hidden="true" />
      ))}{" "}
      {store.label}
      <div class="muted small">
        {plural(store.tasks, "task")}
        {rows !== undefined && `, now ${shapeText(store.tasks, rows)}`}
      </div>
    </>
  );
}

function Held({ compared: { estimated, actual, qError } }: { compared: Compared }): JSX.Element {
  return (
    <>
      <div class="measure">{count(estimated)}</div>
      <div class="small muted">
        {actual === null ? (
          "no epoch yet"
        ) : (
          <>
            held {count(actual)}, off by <QError value={qError} />
          </>
        )}
      </div>
    </>
  );
}

function Skew({
  store,
  perTask,
  colour,
}: {
  store: GraphStore;
  perTask: readonly number[] | null;
  colour: string;
}): JSX.Element {
  const data = useMemo(() => ({ perTask: perTask ?? [], colour }), [perTask, colour]);
  const skew = perTask === null ? null : skewOf(perTask);
  return (
    <>
      <ChartHost create={createSkewBars} data={data} class="spark-host" label={`Tasks of ${store.label}`} />
      <div class="small muted">
        {store.tasks === 1 ? "one task" : skew === null ? "–" : `×${skew.toFixed(2)}`}
      </div>
    </>
  );
}
