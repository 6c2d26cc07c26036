import type { JSX, RefObject } from "preact";
import type { ProbeForestChart } from "../../charts/graphs/probeForest";
import { type Forest, nodesOf } from "../../plan/forest";
import type { Shade } from "../../plan/layout/shade";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { Button } from "../../ui/Button";
import { Select } from "../../ui/fields";
import { QueryChoice } from "./QueryChoice";
import type { PlacedTrees } from "./usePlacedTrees";
import type { TreeChoice } from "./useTreeChoice";

interface Props {
  readonly graph: PhysicalGraph;
  readonly forest: Forest;
  readonly choice: TreeChoice;
  readonly trees: PlacedTrees;
  readonly sought: string;
  readonly onSeek: (text: string) => void;
  /** Keys of the nodes that the search found; null without a search. */
  readonly found: readonly string[] | null;
  readonly shade: Shade;
  readonly onShade: (shade: Shade) => void;
  readonly onSave: (form: "svg" | "png") => void;
  readonly chart: RefObject<ProbeForestChart | null>;
}

/** Above this, queries are chosen from a list instead of one button each. */
const BUTTONS_MOST = 16;

const SHADE_NAMES: Readonly<Record<Shade, string>> = {
  stream: "by stream",
  cost: "cost",
  load: "load",
  skew: "skew",
  query: "sharing",
};

/** Above the trees: which of them, where a step is, how nodes are shaded, and the drawing as a picture. */
export function TreeTools(props: Props): JSX.Element {
  const { graph, choice, trees, found, shade, chart } = props;
  const areOpen = trees.folded.size === 0;
  return (
    <div class="toolbar tree-tools">
      <h2>Probe trees</h2>
      {graph.queries.length > BUTTONS_MOST ? (
        <QueryChoice graph={graph} query={choice.query} onChoose={choice.chooseQuery} />
      ) : (
        <QueryButtons graph={graph} forest={props.forest} choice={choice} />
      )}
      <span class="grow" />
      <input
        type="search"
        class="node-search"
        value={props.sought}
        aria-label="Find a step"
        placeholder="Find a step"
        onInput={(event) => props.onSeek(event.currentTarget.value)}
        onKeyDown={(event) => {
          const first = found?.[0];
          if (event.key === "Enter" && first !== undefined) chart.current?.reveal(first);
        }}
      />
      {found !== null && (
        <span class="muted" role="status">
          {found.length} found
        </span>
      )}
      <label class="inline">
        <span class="muted">Shade</span>
        <Select
          value={shade}
          options={Object.entries(SHADE_NAMES)}
          onValue={(value) => props.onShade(value as Shade)}
        />
      </label>
      <Button small title="Every tree as one row, or all of them open" onClick={() => trees.foldAll(areOpen)}>
        {areOpen ? "Fold" : "Unfold"}
      </Button>
      <Button small title="Save the picture as SVG" onClick={() => props.onSave("svg")}>
        SVG
      </Button>
      <Button small title="Save the picture as PNG" onClick={() => props.onSave("png")}>
        PNG
      </Button>
      <Button small aria-label="Zoom in" onClick={() => chart.current?.zoomBy(1.25)}>
        +
      </Button>
      <Button small aria-label="Zoom out" onClick={() => chart.current?.zoomBy(0.8)}>
        −
      </Button>
      <Button small onClick={() => chart.current?.fit()}>
        Fit
      </Button>
    </div>
  );
}

function QueryButtons({ graph, forest, choice }: Pick<Props, "graph" | "forest" | "choice">): JSX.Element {
  const nodeOf = (query: string): string | null =>
    nodesOf(forest).find((node) => node.kind === "query" && node.label === query)?.key ?? null;
  return (
    <fieldset class="group query-filter" aria-label="Show only one query's paths">
      {graph.queries.map(({ name }) => (
        <button
          key={name}
          type="button"
          class="tag"
          aria-pressed={choice.query === name}
          onMouseEnter={() => choice.hover(nodeOf(name))}
          onMouseLeave={() => choice.hover(null)}
          onClick={() => choice.chooseQuery(choice.query === name ? null : name)}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
