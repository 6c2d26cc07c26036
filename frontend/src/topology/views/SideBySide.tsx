import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Alternative, PlanDocument } from "../../api/documents";
import { ChartHost } from "../../charts/ChartHost";
import type { ProbeForestData } from "../../charts/graphs/forestData";
import { createProbeForest, type ProbeForestChart } from "../../charts/graphs/probeForest";
import type { StreamColour } from "../../colour/streams";
import { count, percent, rate } from "../../format/quantities";
import { focusedKeys, forestOf, nodesOf } from "../../plan/forest";
import { isFolded, UNCHOSEN, withTree } from "../../plan/layout/folding";
import { layoutForest } from "../../plan/layout/forestLayout";
import { type PhysicalGraph, parseGraph } from "../../plan/physicalGraph";
import { type PlanSize, planSize, savedBySharing } from "../../plan/sharing";
import { Button } from "../../ui/Button";
import { Fact } from "../../ui/Fact";
import { ProblemLine } from "../../ui/ProblemLine";

interface Props {
  readonly plan: PlanDocument;
  readonly graph: PhysicalGraph;
  /** The same queries, each planned alone; null until it is known. */
  readonly individual: Alternative | null;
  readonly problem: string | null;
  readonly colour: StreamColour;
}

/**
 * The shared plan beside each query's own: the same queries, drawn to the same scale of tuples per second.
 */
export function SideBySide({ plan, graph, individual, problem, colour }: Props): JSX.Element {
  const alone = useMemo(() => (individual === null ? null : parseGraph(individual.graph)), [individual]);
  const [query, setQuery] = useState<string | null>(null);
  if (problem !== null) return <ProblemLine text={problem} />;
  if (individual === null || alone === null)
    return <p class="muted">Loading what each query alone would cost…</p>;
  const [shared, own] = [planSize(graph, plan.cost.total), planSize(alone, individual.cost.total)];
  const saved = savedBySharing(shared.cost, own.cost);
  return (
    <>
      <p class="saved">
        {saved === null ? (
          ""
        ) : saved >= 0 ? (
          <strong>Together costs {percent(saved)} less. </strong>
        ) : (
          <strong>Together costs {percent(-saved)} more. </strong>
        )}
        <span class="muted">
          Strokes are estimated tuples per second. Point at a query, in either drawing, to see its path in
          both.
        </span>
      </p>
      <div class="beside">
        <PlanPicture
          title="Together"
          size={shared}
          graph={graph}
          colour={colour}
          query={query}
          onQuery={setQuery}
        />
        <PlanPicture
          title="Each query alone"
          size={own}
          graph={alone}
          colour={colour}
          query={query}
          onQuery={setQuery}
        />
      </div>
    </>
  );
}

interface PictureProps {
  readonly title: string;
  readonly size: PlanSize;
  readonly graph: PhysicalGraph;
  readonly colour: StreamColour;
  /** Whose path is shown; null shows all. */
  readonly query: string | null;
  readonly onQuery: (query: string | null) => void;
}

function PlanPicture({ title, size, graph, colour, query, onQuery }: PictureProps): JSX.Element {
  const chart = useRef<ProbeForestChart | null>(null);
  const [folding, setFolding] = useState(UNCHOSEN);
  const [selected, setSelected] = useState<string | null>(null);
  // Alone, every query keeps its streams for itself; sources that only do that are counted above, not drawn.
  const forest = useMemo(() => {
    const whole = forestOf(graph);
    return { ...whole, roots: whole.roots.filter((root) => root.children.length > 0) };
  }, [graph]);
  const names = useMemo(
    () =>
      new Map(
        nodesOf(forest).flatMap((node) => (node.kind === "query" ? [[node.key, node.label] as const] : [])),
      ),
    [forest],
  );
  const estimates = useMemo(
    () => new Map(graph.estimates.map((estimate) => [estimate.id, estimate.tuples_per_second])),
    [graph],
  );
  const placed = useMemo(
    () =>
      layoutForest(
        forest,
        new Set(forest.roots.map((root) => root.key).filter((key) => isFolded(folding, key, false))),
      ),
    [forest, folding],
  );
  const data = useMemo((): ProbeForestData => {
    const estimate = (edge: string | undefined): number | null =>
      edge === undefined ? null : (estimates.get(edge) ?? null);
    return {
      placed,
      colour,
      text: ({ node }) => {
        const sent = node.edge === null ? null : rate(estimate(node.edge.id));
        const served = node.kind === "query" ? node.label : node.queries.join(", ");
        return {
          detail: sent === null ? "" : `est ${sent}`,
          title: `${node.label}${sent === null ? "" : `: ${sent} estimated`}; for ${served}`,
        };
      },
      flow: ({ target }) => estimate(target.node.edge?.id),
      kept: query === null ? null : focusedKeys(forest, { query, store: null }),
      selected,
      fill: () => null,
      added: new Set(),
      onHover: (key) => onQuery(key === null ? null : (names.get(key) ?? null)),
      onSelect: (key) => setSelected(key === selected ? null : key),
      onFold: (key) => setFolding((before) => withTree(before, key, !isFolded(before, key, false))),
    };
  }, [placed, colour, estimates, query, selected, names]);
  return (
    <section aria-label={title}>
      <div class="toolbar">
        <h2>{title}</h2>
        <span class="grow" />
        <Button small aria-label={`Fit ${title.toLowerCase()}`} onClick={() => chart.current?.fit()}>
          Fit
        </Button>
      </div>
      <dl class="numbers compact">
        <Fact
          label="cost"
          value={count(size.cost)}
          title="in millionths of a core, or in probe tuples per second where plans are chosen by messages"
        />
        <Fact label="steps" value={count(size.steps)} />
        <Fact label="stores" value={count(size.stores)} />
        <Fact label="levels" value={count(size.depth)} />
      </dl>
      <ChartHost
        create={createProbeForest}
        data={data}
        class="forest-host"
        label={`Probe trees: ${title.toLowerCase()}`}
        onReady={(made) => {
          chart.current = made;
        }}
      />
    </section>
  );
}
