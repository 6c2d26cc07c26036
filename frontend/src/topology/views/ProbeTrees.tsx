import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { explainError } from "../../api/request";
import { ChartHost } from "../../charts/ChartHost";
import { picturePng, pictureText, saveFile } from "../../charts/exportPicture";
import {
  createProbeForest,
  type NodeText,
  type ProbeForestChart,
  type ProbeForestData,
} from "../../charts/graphs/probeForest";
import type { StreamColour } from "../../colour/streams";
import { count, rate } from "../../format/quantities";
import type { BatchCompleted, EpochCompleted } from "../../live/messages";
import { type EdgeRate, knownRates } from "../../live/recent";
import type { Live } from "../../live/useFeed";
import {
  conditionsOf,
  type Focus,
  type ForestNode,
  focusedKeys,
  forestOf,
  nodesOf,
  pruned,
} from "../../plan/forest";
import { everyTree, isFolded, UNCHOSEN, withTree } from "../../plan/layout/folding";
import { layoutForest, type PlacedNode } from "../../plan/layout/forestLayout";
import { SHADES, type Shade, shadeColour, shadingOf } from "../../plan/layout/shade";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { ProblemLine } from "../../ui/ProblemLine";
import { useAddress } from "../../ui/useAddress";
import { NodeDetail } from "./NodeDetail";
import { QueryChoice } from "./QueryChoice";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
  /** Names the exported files. */
  readonly name: string;
  /** Steps that the compared plan does not have. */
  readonly added: ReadonlySet<string>;
}

/** Above this, trees start as one row each and open on demand. */
const FOLD_ABOVE = 150;
/** Above this, queries are chosen from a list instead of one button each. */
const BUTTONS_MOST = 16;

function hashKey(): string | null {
  const key = decodeURIComponent(window.location.hash.slice(1));
  return key === "" ? null : key;
}

export function ProbeTrees({ graph, live, colour, name, added }: Props): JSX.Element {
  const forest = useMemo(() => forestOf(graph), [graph]);
  const nodes = useMemo(() => new Map(nodesOf(forest).map((node) => [node.key, node])), [forest]);
  const estimates = useMemo(
    () => new Map(graph.estimates.map((estimate) => [estimate.id, estimate])),
    [graph],
  );
  const [folding, setFolding] = useState(UNCHOSEN);
  const large = nodes.size > FOLD_ABOVE;
  const folded = useMemo(
    (): ReadonlySet<string> =>
      new Set(forest.roots.map((root) => root.key).filter((key) => isFolded(folding, key, large))),
    [forest, folding, large],
  );
  const [selected, setSelected] = useState<string | null>(hashKey);
  const [hovered, setHovered] = useState<string | null>(null);
  const [asked, setQuery] = useAddress("query");
  const query = graph.queries.some((entry) => entry.name === asked) ? asked : null;
  const [askedShade, setShade] = useAddress("shade");
  const shade: Shade = SHADES.find((one) => one === askedShade) ?? "stream";
  const [sought, setSought] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const chart = useRef<ProbeForestChart | null>(null);
  useEffect(() => {
    const onHash = (): void => setSelected(hashKey());
    window.addEventListener("hashchange", onHash);
    return () => window.removeEventListener("hashchange", onHash);
  }, []);

  const statistics = live.snapshot?.statistics ?? null;
  const rates = useMemo(
    () => knownRates(live.recent, live.snapshot?.history ?? [], statistics),
    [live.recent, statistics],
  );
  const flow = (edge: string): number | null => rates(edge).now ?? rates(edge).eventTime;
  const batch = live.snapshot?.batch ?? null;
  // The store behind a palette link is an id of a store, not of a node.
  const selectedStore =
    selected !== null && !nodes.has(selected) && graph.stores.some((store) => store.id === selected)
      ? selected
      : null;
  const shown = hovered ?? (selected !== null && nodes.has(selected) ? selected : null);

  const select = (key: string): void => {
    if (folded.has(key)) setFolding((before) => withTree(before, key, false));
    const next = key === selected ? null : key;
    setSelected(next);
    window.history.replaceState(
      null,
      "",
      next === null ? `${window.location.pathname}${window.location.search}` : `#${encodeURIComponent(next)}`,
    );
  };

  const focus = useMemo((): Focus => {
    const node = shown === null ? undefined : nodes.get(shown);
    if (query !== null) return { query, store: null };
    if (node?.kind === "query") return { query: node.label, store: null };
    if (hovered !== null && node?.store !== null && node?.store !== undefined)
      return { query: null, store: node.store.id };
    return { query: null, store: selectedStore };
  }, [query, shown, hovered, selectedStore, nodes]);

  const toggle = (key: string): void =>
    setFolding((before) => withTree(before, key, !isFolded(before, key, large)));

  const shading = useMemo(
    () => shadingOf(shade, forest, graph, batch, flow),
    [shade, forest, graph, batch, rates],
  );
  const found = useMemo(() => {
    const word = sought.trim().toLowerCase();
    return word === ""
      ? null
      : [...nodes.values()].filter((node) => searchText(node).includes(word)).map((node) => node.key);
  }, [sought, nodes]);
  // A large plan shows only the trees that are asked for, opened as long as that stays readable.
  const placed = useMemo(() => {
    const wanted = !large
      ? null
      : found !== null
        ? new Set(found)
        : query !== null
          ? focusedKeys(forest, { query, store: null })
          : null;
    if (wanted === null) return layoutForest(forest, folded);
    const trees = pruned(forest, wanted);
    return layoutForest(
      trees,
      nodesOf(trees).length > FOLD_ABOVE ? new Set(trees.roots.map((root) => root.key)) : new Set(),
    );
  }, [forest, folded, found, query]);
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

  const data = useMemo((): ProbeForestData => {
    const text = ({ node }: PlacedNode): NodeText =>
      nodeText(node, rates, (id) => estimates.get(id)?.tuples_per_second ?? null, batch, statistics);
    return {
      placed,
      colour,
      text,
      flow: ({ target }) => (target.node.edge === null ? null : flow(target.node.edge.id)),
      kept: found === null ? focusedKeys(forest, focus) : new Set(found),
      selected,
      fill: (key) => shadeColour(shading.fractions.get(key)),
      added,
      onHover: setHovered,
      onSelect: select,
      onFold: toggle,
    };
  }, [placed, colour, rates, estimates, batch, focus, selected, folded, shading, found, added]);

  return (
    <div class="trees">
      <div class="trees-main">
        <div class="toolbar tree-tools">
          <h2>Probe trees</h2>
          {graph.queries.length > BUTTONS_MOST ? (
            <QueryChoice graph={graph} query={query} onChoose={setQuery} />
          ) : (
            <fieldset class="group query-filter" aria-label="Show only one query's paths">
              {graph.queries.map((entry) => (
                <button
                  key={entry.name}
                  type="button"
                  class="tag"
                  aria-pressed={query === entry.name}
                  onMouseEnter={() =>
                    setHovered(
                      nodesOf(forest).find((node) => node.kind === "query" && node.label === entry.name)
                        ?.key ?? null,
                    )
                  }
                  onMouseLeave={() => setHovered(null)}
                  onClick={() => setQuery(query === entry.name ? null : entry.name)}
                >
                  {entry.name}
                </button>
              ))}
            </fieldset>
          )}
          <span class="grow" />
          <input
            type="search"
            class="node-search"
            value={sought}
            aria-label="Find a step"
            placeholder="Find a step"
            onInput={(event) => setSought(event.currentTarget.value)}
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
            <select
              value={shade}
              onChange={(event) =>
                setShade(event.currentTarget.value === "stream" ? null : event.currentTarget.value)
              }
            >
              <option value="stream">by stream</option>
              <option value="cost">cost</option>
              <option value="load">load</option>
              <option value="skew">skew</option>
              <option value="query">sharing</option>
            </select>
          </label>
          <button
            type="button"
            class="button small"
            title="Every tree as one row, or all of them open"
            onClick={() => setFolding(everyTree(folded.size === 0))}
          >
            {folded.size === 0 ? "Fold" : "Unfold"}
          </button>
          <button
            type="button"
            class="button small"
            title="Save the picture as SVG"
            onClick={() => save("svg")}
          >
            SVG
          </button>
          <button
            type="button"
            class="button small"
            title="Save the picture as PNG"
            onClick={() => save("png")}
          >
            PNG
          </button>
          <button
            type="button"
            class="button small"
            aria-label="Zoom in"
            onClick={() => chart.current?.zoomBy(1.25)}
          >
            +
          </button>
          <button
            type="button"
            class="button small"
            aria-label="Zoom out"
            onClick={() => chart.current?.zoomBy(0.8)}
          >
            −
          </button>
          <button type="button" class="button small" onClick={() => chart.current?.fit()}>
            Fit
          </button>
        </div>
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
        <p class="legend muted small">
          <svg width="26" height="8" aria-hidden="true">
            <line class="link shuffle" x1="0" x2="26" y1="4" y2="4" stroke-width="2" />
          </svg>{" "}
          shuffle
          <svg width="26" height="8" aria-hidden="true">
            <line class="link group_by" x1="0" x2="26" y1="4" y2="4" stroke-width="2" />
          </svg>{" "}
          group by key
          <svg width="26" height="8" aria-hidden="true">
            <line class="link all" x1="0" x2="26" y1="4" y2="4" stroke-width="2" />
          </svg>{" "}
          all tasks
          {shade !== "stream" && (
            <span class="scale">
              · <i aria-hidden="true" /> {scaleText(shade, shading.most)}
            </span>
          )}
          <span>· stroke: tuples per second · drag to pan, Ctrl-wheel to zoom</span>
        </p>
      </div>
      <NodeDetail
        node={shown === null ? null : (nodes.get(shown) ?? null)}
        store={
          selectedStore === null ? null : (graph.stores.find((store) => store.id === selectedStore) ?? null)
        }
        graph={graph}
        rates={rates}
        batch={batch}
        statistics={statistics}
        colour={colour}
      />
    </div>
  );
}

/** What a search for a step looks through. */
function searchText(node: ForestNode): string {
  const conditions = node.rule?.kind === "probe" ? conditionsOf(node.rule) : [];
  return [node.label, node.kind, node.key, ...node.queries, ...conditions].join("\n").toLowerCase();
}

function scaleText(shade: Shade, most: number | null): string {
  if (most === null) return "not known yet";
  switch (shade) {
    case "stream":
      return "";
    case "cost":
      return `cost of a step, up to ${count(most)}`;
    case "load":
      return `tuples sent there, up to ${rate(most)}`;
    case "skew":
      return `fullest task over the mean, up to ×${most.toFixed(2)}`;
    case "query":
      return `queries that share a step, up to ${count(most)}`;
  }
}

function nodeText(
  node: ForestNode,
  rates: (edge: string) => EdgeRate,
  estimate: (id: string) => number | null,
  batch: BatchCompleted | null,
  statistics: EpochCompleted | null,
): NodeText {
  if (node.kind === "query") {
    if (batch === null && statistics !== null)
      return {
        detail: "– results in epoch",
        title: `Query ${node.label}: epochs do not keep the number of results`,
      };
    const results = batch?.queries[node.label]?.results;
    return {
      detail: `${count(results)} results in batch`,
      title: `Query ${node.label}: ${count(results)} results in the newest batch`,
    };
  }
  if (node.kind === "source") {
    const inEpoch = statistics?.accepted[node.stream ?? ""];
    if (batch === null && statistics !== null) {
      return {
        detail: `${count(inEpoch)} in epoch`,
        title: `Source ${node.label}: ${count(inEpoch)} tuples accepted in epoch ${statistics.epoch}; feeds ${node.queries.join(", ")}`,
      };
    }
    const accepted = batch?.streams[node.stream ?? ""]?.accepted;
    return {
      detail: `${count(accepted)} in batch`,
      title: `Source ${node.label}: ${count(accepted)} tuples accepted in the newest batch; feeds ${node.queries.join(", ")}`,
    };
  }
  const edge = node.edge?.id ?? "";
  const { now, eventTime } = rates(edge);
  const action = node.kind === "probe" ? "Probe of" : "Feed of";
  return {
    detail: `${rate(eventTime)} · est ${rate(estimate(edge))}`,
    title: `${action} ${node.label}: ${rate(now)} now, ${rate(eventTime)} of event time, estimated ${rate(estimate(edge))}; for ${node.queries.join(", ")}`,
  };
}
