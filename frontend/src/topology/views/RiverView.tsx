import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Costs } from "../../api/documents";
import { ChartHost } from "../../charts/ChartHost";
import { createRiver, type RiverData, shareColour } from "../../charts/graphs/river";
import type { StreamColour } from "../../colour/streams";
import { plural, rate } from "../../format/quantities";
import type { Live } from "../../live/useFeed";
import { costText } from "../../plan/costText";
import { estimatedRates } from "../../plan/estimates";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { layoutRiver } from "../../plan/river/layout";
import { litLinks, type Measure, type RiverLink, type RiverNode, riverOf } from "../../plan/river/river";
import { ProblemLine } from "../../ui/ProblemLine";
import { useAddress } from "../../ui/useAddress";
import { useWidth } from "../../ui/useWidth";
import { QueryChoice } from "./QueryChoice";
import { namesOf, RiverTable } from "./RiverTable";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
  /** Null until they are known, or where nobody works them out. */
  readonly costs: Costs | null;
  readonly problem: string | null;
}

/** Below this nothing but streams and queries is labelled. */
const NARROW_PX = 640;
const HEIGHT_PX = 400;
const LABELS_PX = 222;

/** One picture of the whole: streams on the left, shared steps between, each query once on the right. */
export function RiverView({ graph, live, colour, costs, problem }: Props): JSX.Element {
  const [askedMeasure, setMeasure] = useAddress("width");
  const measure: Measure = askedMeasure === "tuples" || costs === null ? "tuples" : "cores";
  const [asked, setAsked] = useAddress("query");
  const query = graph.queries.some((entry) => entry.name === asked) ? asked : null;
  const [hovered, setHovered] = useState<string | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const { host, width } = useWidth();
  const statistics = live.snapshot?.statistics ?? null;
  const rates = useMemo(() => {
    const estimates = estimatedRates(graph, statistics);
    return (id: string) => statistics?.rates[id]?.actual ?? estimates.get(id) ?? null;
  }, [graph, statistics]);
  const river = useMemo(
    () => riverOf(graph, { measure, costs, rates, query }),
    // Work follows from the plan alone; tuples from what the newest epoch measured.
    [graph, measure, costs, query, measure === "tuples" ? rates : null],
  );
  const narrow = width < NARROW_PX;
  const placed = useMemo(
    () =>
      layoutRiver(river, {
        width,
        height: narrow ? 380 : HEIGHT_PX,
        gap: narrow ? 14 : 13,
        labels: narrow ? 0 : LABELS_PX,
      }),
    [river, width, narrow],
  );
  const most = Math.max(1, ...river.links.map(({ queries }) => queries.size));
  const ofCost = (cost: number | null): string => costText(costs, cost);
  const flowText = measure === "cores" ? ofCost : rate;
  const focus = hovered ?? selected;
  const data = useMemo(
    (): RiverData => ({
      placed,
      colour,
      most,
      lit: litLinks(river, focus),
      selected,
      stepLabels: !narrow,
      nodeTitle: ({ node, value }) => titleOf(node, flowText(value), measure, ofCost),
      linkTitle: ({ link }) => linkTitle(link, river.nodes, flowText),
      onHover: setHovered,
      onSelect: (key) => setSelected((before) => (before === key ? null : key)),
    }),
    [placed, colour, most, river, focus, selected, narrow, measure],
  );
  const chosen = river.nodes.find(({ key }) => key === focus) ?? null;
  return (
    <div class="river-view">
      <div class="toolbar tree-tools">
        <h2>River</h2>
        <fieldset class="group" aria-label="What width is">
          {(["cores", "tuples"] as const).map((one) => (
            <button
              key={one}
              type="button"
              class="tag"
              aria-pressed={one === measure}
              disabled={one === "cores" && costs === null}
              onClick={() => setMeasure(one === "cores" ? null : one)}
            >
              {one === "tuples" ? "tuples/s" : costs?.unit === "messages" ? "cost" : "cores"}
            </button>
          ))}
        </fieldset>
        <QueryChoice graph={graph} query={query} onChoose={setAsked} />
      </div>
      <ProblemLine text={problem} />
      <div ref={host} class="river-room">
        {width > 0 && <ChartHost create={createRiver} data={data} class="river-host" label="Plan" />}
      </div>
      <p class="river-line small" role="status">
        {chosen === null ? (
          <span class="muted">
            Point at a query to see its water, at a step or a stream to see what depends on it.
          </span>
        ) : (
          titleOf(chosen, null, measure, ofCost)
        )}
      </p>
      <Legend measure={measure} most={most} unit={costs?.unit ?? null} epoch={statistics?.epoch ?? null} />
      <details class="river-table">
        <summary>As a table</summary>
        <RiverTable river={river} costText={ofCost} />
      </details>
    </div>
  );
}

function titleOf(
  node: RiverNode,
  flow: string | null,
  measure: Measure,
  costText: (cost: number | null) => string,
): string {
  const through =
    flow === null ? "" : measure === "cores" ? `, ${flow} up to here` : `, ${flow} of event time`;
  const own = node.cost === null ? "" : `, ${costText(node.cost)} of its own`;
  if (node.kind === "query" && node.queries.size === 1)
    return `query ${node.label}${measure === "cores" && flow !== null ? `, ${flow} fall on it` : through}`;
  return `${node.label}${through}${own}, for ${plural(node.queries.size, "query", "queries")}: ${namesOf(node.queries)}`;
}

function linkTitle(link: RiverLink, nodes: readonly RiverNode[], flow: (value: number) => string): string {
  const label = (key: string): string => nodes.find((node) => node.key === key)?.label ?? key;
  const shared = plural(link.queries.size, "query", "queries");
  return `${label(link.source)} → ${label(link.target)}: ${flow(link.value)}, for ${shared}: ${namesOf(link.queries)}`;
}

interface LegendProps {
  readonly measure: Measure;
  readonly most: number;
  readonly unit: string | null;
  readonly epoch: number | null;
}

function Legend({ measure, most, unit, epoch }: LegendProps): JSX.Element {
  const width =
    measure === "cores"
      ? `width: ${unit === "cores" ? "processor time" : "cost"} spent up to there, each part split evenly among the queries that need it`
      : `width: tuples per second of event time, ${epoch === null ? "estimated" : `as epoch ${epoch} measured`}`;
  return (
    <p class="legend muted small">
      <span>{width}</span>
      <span>
        · shade: 1{" "}
        {[1, Math.ceil((1 + most) / 2), most].map((queries, i) => (
          <i key={i} class="swatch" style={{ background: shareColour(queries, most) }} aria-hidden="true" />
        ))}{" "}
        {plural(most, "query", "queries")} share it
      </span>
    </p>
  );
}
