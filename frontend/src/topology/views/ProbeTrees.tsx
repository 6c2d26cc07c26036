import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { explainError } from "../../api/request";
import { ChartHost } from "../../charts/ChartHost";
import { picturePng, pictureText, saveFile } from "../../charts/exportPicture";
import type { ProbeForestData } from "../../charts/graphs/forestData";
import { createProbeForest, type ProbeForestChart } from "../../charts/graphs/probeForest";
import type { StreamColour } from "../../colour/streams";
import { knownRates } from "../../live/recent";
import type { Live } from "../../live/useFeed";
import { estimatedRates } from "../../plan/estimates";
import { conditionsOf, type ForestNode, focusedKeys, forestOf, nodesOf } from "../../plan/forest";
import { SHADES, type Shade, shadeColour, shadingOf } from "../../plan/layout/shade";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { ProblemLine } from "../../ui/ProblemLine";
import { useAddress } from "../../ui/useAddress";
import { NodeDetail } from "../detail/NodeDetail";
import { nodeText } from "./nodeText";
import { TreeLegend } from "./TreeLegend";
import { TreeTools } from "./TreeTools";
import { usePlacedTrees } from "./usePlacedTrees";
import { useTreeChoice } from "./useTreeChoice";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
  /** Names the exported files. */
  readonly name: string;
  /** Steps that the compared plan does not have. */
  readonly added: ReadonlySet<string>;
}

/** What a search for a step looks through. */
function searchText(node: ForestNode): string {
  const conditions = node.rule?.kind === "probe" ? conditionsOf(node.rule) : [];
  return [node.label, node.kind, node.key, ...node.queries, ...conditions].join("\n").toLowerCase();
}

/** The plan as one tree per stream: which stores its tuples probe, in which order, for which queries. */
export function ProbeTrees({ graph, live, colour, name, added }: Props): JSX.Element {
  const forest = useMemo(() => forestOf(graph), [graph]);
  const nodes = useMemo(() => new Map(nodesOf(forest).map((node) => [node.key, node])), [forest]);
  const choice = useTreeChoice(graph, nodes);
  const [askedShade, setShade] = useAddress("shade");
  const shade: Shade = SHADES.find((one) => one === askedShade) ?? "stream";
  const [sought, setSought] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const chart = useRef<ProbeForestChart | null>(null);
  const found = useMemo(() => {
    const word = sought.trim().toLowerCase();
    if (word === "") return null;
    return [...nodes.values()].filter((node) => searchText(node).includes(word)).map((node) => node.key);
  }, [sought, nodes]);
  const trees = usePlacedTrees(forest, choice.query, found);

  const statistics = live.snapshot?.statistics ?? null;
  const estimates = useMemo(() => estimatedRates(graph, statistics), [graph, statistics]);
  const batch = live.snapshot?.batch ?? null;
  const rates = useMemo(
    () => knownRates(live.recent, live.snapshot?.history ?? [], statistics),
    [live.recent, statistics],
  );
  const flow = (edge: string): number | null => rates(edge).now ?? rates(edge).eventTime;
  const shading = useMemo(
    () => shadingOf(shade, forest, graph, batch, flow),
    [shade, forest, graph, batch, rates],
  );
  const data = useMemo(
    (): ProbeForestData => ({
      placed: trees.placed,
      colour,
      text: ({ node }) => nodeText(node, rates, (id) => estimates.get(id) ?? null, batch, statistics),
      flow: ({ target }) => (target.node.edge === null ? null : flow(target.node.edge.id)),
      kept: found === null ? focusedKeys(forest, choice.focus) : new Set(found),
      selected: choice.selected,
      fill: (key) => shadeColour(shading.fractions.get(key)),
      added,
      onHover: choice.hover,
      onSelect: (key) => {
        if (trees.folded.has(key)) trees.open(key);
        choice.select(key);
      },
      onFold: trees.toggle,
    }),
    [
      trees.placed,
      trees.folded,
      colour,
      rates,
      estimates,
      batch,
      choice.focus,
      choice.selected,
      shading,
      found,
      added,
    ],
  );
  const save = (form: "svg" | "png"): void => {
    const picture = chart.current?.picture() ?? null;
    if (picture === null) return;
    const text = pictureText(picture.svg, picture);
    setProblem(null);
    if (form === "svg") saveFile(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
    else
      picturePng(text, picture).then(
        (file) => saveFile(file, `${name}.png`),
        (error: unknown) => setProblem(explainError(error)),
      );
  };
  return (
    <div class="trees">
      <div class="trees-main">
        <TreeTools
          graph={graph}
          forest={forest}
          choice={choice}
          trees={trees}
          sought={sought}
          onSeek={setSought}
          found={found}
          shade={shade}
          onShade={(next) => setShade(next === "stream" ? null : next)}
          onSave={save}
          chart={chart}
        />
        <ProblemLine text={problem} />
        <ChartHost
          create={createProbeForest}
          data={data}
          class="forest-host"
          label="Probe trees; arrow keys move, Enter selects"
          onReady={(made) => {
            chart.current = made;
          }}
        />
        <TreeLegend shade={shade} shading={shading} />
      </div>
      <NodeDetail
        node={choice.node}
        store={graph.stores.find((store) => store.id === choice.store) ?? null}
        graph={graph}
        rates={rates}
        batch={batch}
        statistics={statistics}
        colour={colour}
      />
    </div>
  );
}
