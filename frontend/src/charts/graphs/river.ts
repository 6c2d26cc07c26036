/** Draws the river of a plan: width is what flows, shade is how many queries share it. */
import { select } from "d3";
import type { StreamColour } from "../../colour/streams";
import type { PlacedLink, PlacedNode, PlacedRiver } from "../../plan/river/layout";
import { type Chart, motionMs, writeText } from "../chart";
import { motion } from "../motion";

export interface RiverData {
  readonly placed: PlacedRiver;
  readonly colour: StreamColour;
  /** Keys of the links that stay lit; null lights all. */
  readonly lit: ReadonlySet<string> | null;
  readonly selected: string | null;
  /** What a node or a link says of itself, in a line. */
  readonly nodeTitle: (node: PlacedNode) => string;
  readonly linkTitle: (link: PlacedLink) => string;
  /** The most queries that share anything: the end of the scale of shades. */
  readonly most: number;
  /** Labels of steps are left out where there is no room for them. */
  readonly stepLabels: boolean;
  /** Null draws a picture only. */
  readonly onHover: ((key: string | null) => void) | null;
  readonly onSelect: (key: string) => void;
}

/** The shade of what so many queries share, the same in the legend. */
export function shareColour(queries: number, most: number): string {
  const part = most <= 1 ? 0 : (queries - 1) / (most - 1);
  return `color-mix(in oklab, var(--river-many) ${Math.round(part * 100)}%, var(--river-one))`;
}

const LEAST_NODE = 3;
const LETTER = 6.6;

export function createRiver(element: HTMLElement): Chart<RiverData> {
  const svg = select(element).append("svg").attr("class", "river");
  const links = svg.append("g").attr("class", "river-links").attr("aria-hidden", "true");
  const nodes = svg.append("g").attr("class", "river-nodes");
  let latest: RiverData | null = null;
  /** The node that Tab comes to; arrow keys move on from it. */
  let stop: string | null = null;

  const focus = (key: string): void => {
    stop = key;
    if (latest !== null) update(latest);
    nodes
      .selectAll<SVGGElement, PlacedNode>("g.river-node")
      .filter(({ node }) => node.key === key)
      .node()
      ?.focus();
  };

  const onKey = (event: KeyboardEvent, from: PlacedNode): void => {
    if (latest === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      latest.onSelect(from.node.key);
      return;
    }
    const target = neighbour(latest.placed.nodes, from, event.key);
    if (target === null) return;
    event.preventDefault();
    focus(target.node.key);
  };

  const update = (data: RiverData): void => {
    const first = latest === null;
    latest = data;
    const { placed, lit } = data;
    const still = first || motionMs() === 0;
    svg
      .attr("viewBox", `0 0 ${placed.width} ${placed.height}`)
      .attr("width", placed.width)
      .attr("height", placed.height)
      .attr("role", data.onHover === null ? "img" : "group")
      .attr(
        "aria-label",
        data.onHover === null ? "River of the plan" : "River; arrow keys move, Enter selects",
      );

    const drawnLinks = links
      .selectAll<SVGPathElement, PlacedLink>("path")
      .data(placed.links, ({ link }) => link.key)
      .join(
        (entering) => {
          const path = entering
            .append("path")
            .attr("d", ({ path }) => path)
            .attr("stroke-width", 0);
          path.append("title");
          return path;
        },
        (known) => known,
        (gone) => (still ? gone.remove() : gone.transition(motion()).attr("stroke-width", 0).remove()),
      )
      .classed("dimmed", ({ link }) => lit !== null && !lit.has(link.key))
      .attr("stroke", ({ link }) => shareColour(link.queries.size, data.most));
    drawnLinks.select<SVGTitleElement>("title").text(data.linkTitle);
    const stroke = ({ width }: PlacedLink): number => Math.max(1, width);
    if (still) drawnLinks.attr("d", ({ path }) => path).attr("stroke-width", stroke);
    else
      drawnLinks
        .transition(motion())
        .attr("d", ({ path }) => path)
        .attr("stroke-width", stroke);

    const litNodes = lit === null ? null : endsOf(placed, lit);
    if (stop === null || !placed.nodes.some(({ node }) => node.key === stop))
      stop = placed.nodes[0]?.node.key ?? null;
    const drawn = nodes
      .selectAll<SVGGElement, PlacedNode>("g.river-node")
      .data(placed.nodes, ({ node }) => node.key)
      .join(
        (entering) => {
          const group = entering.append("g").attr("transform", ({ x, y }) => `translate(${x},${y})`);
          group.append("title");
          group.append("rect");
          group.append("text").attr("dy", "0.35em");
          return group;
        },
        (known) => known,
        (gone) => gone.remove(),
      )
      .attr("class", ({ node }) => `river-node ${node.kind}`)
      .attr("data-key", ({ node }) => node.key)
      .classed("selected", ({ node }) => node.key === data.selected)
      .classed(
        "dimmed",
        ({ node }) => litNodes !== null && !litNodes.has(node.key) && node.key !== data.selected,
      );
    const drawnLabel = (node: PlacedNode): string =>
      labelOf(placed, node, data.stepLabels || node.node.key === data.selected);
    drawn.select<SVGTitleElement>("title").text(data.nodeTitle);
    if (data.onHover !== null)
      drawn
        .attr("tabindex", ({ node }) => (node.key === stop ? 0 : -1))
        .attr("role", "button")
        .attr("aria-pressed", ({ node }) => node.key === data.selected)
        .attr("aria-label", (node) => {
          // A node is found by the text that is drawn of it, even where that is cut (WCAG 2.5.3).
          const [title, label] = [data.nodeTitle(node), drawnLabel(node)];
          return title.includes(label) ? title : `${label}: ${title}`;
        })
        .on("pointerenter", (_event, { node }) => latest?.onHover?.(node.key))
        .on("focus", (_event, { node }) => latest?.onHover?.(node.key))
        .on("pointerleave blur", () => latest?.onHover?.(null))
        .on("click", (_event, { node }) => latest?.onSelect(node.key))
        .on("keydown", onKey);
    drawn
      .select<SVGRectElement>("rect")
      .attr("width", ({ width }) => width)
      .attr("height", ({ height }) => Math.max(LEAST_NODE, height))
      .attr("fill", ({ node }) => (node.stream === null ? "var(--line-strong)" : data.colour(node.stream)));
    const texts = drawn
      .select<SVGTextElement>("text")
      .attr("x", (node) => (isInside(placed, node) ? -6 : node.width + 6))
      .attr("y", ({ height }) => height / 2)
      .attr("text-anchor", (node) => (isInside(placed, node) ? "end" : "start"));
    writeText(texts, drawnLabel);
    const place = ({ x, y }: PlacedNode): string => `translate(${x},${y})`;
    if (still) drawn.attr("transform", place);
    else drawn.transition(motion()).attr("transform", place);
  };

  return {
    update,
    dispose: () => {
      svg.remove();
    },
  };
}

/** Queries without room behind them have their label before them, over the river. */
function isInside(placed: PlacedRiver, { column }: PlacedNode): boolean {
  return placed.labels === 0 && column === placed.columns - 1 && column > 0;
}

/** As much of a label as stands in its column. */
function labelOf(placed: PlacedRiver, { node, column }: PlacedNode, steps: boolean): string {
  const isStep = column > 0 && column < placed.columns - 1;
  if (isStep && !steps) return "";
  const across = (placed.width - placed.labels) / Math.max(1, placed.columns - 1);
  const isQuery = column > 0 && !isStep;
  const room = isQuery && placed.labels > 0 ? placed.labels : across * (isStep ? 0.92 : 1.6);
  const letters = Math.max(6, Math.floor(room / LETTER));
  return node.label.length > letters ? `${node.label.slice(0, letters - 1)}…` : node.label;
}

/** The nodes at either end of lit links. */
function endsOf(placed: PlacedRiver, lit: ReadonlySet<string>): ReadonlySet<string> {
  const ends = new Set<string>();
  for (const { link } of placed.links)
    if (lit.has(link.key)) {
      ends.add(link.source);
      ends.add(link.target);
    }
  return ends;
}

/** Where an arrow key leads: up and down in a column, left and right to the nearest of the next. */
export function neighbour(nodes: readonly PlacedNode[], from: PlacedNode, key: string): PlacedNode | null {
  const middle = ({ y, height }: PlacedNode): number => y + height / 2;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 0, ArrowDown: 0 }[key];
  if (step === undefined) return null;
  const sign = key === "ArrowUp" ? -1 : 1;
  const candidates =
    step === 0
      ? nodes.filter((node) => node.column === from.column && (middle(node) - middle(from)) * sign > 0)
      : nodes.filter(({ column }) => column === from.column + step);
  return candidates.reduce<PlacedNode | null>(
    (best, node) =>
      best === null || Math.abs(middle(node) - middle(from)) < Math.abs(middle(best) - middle(from))
        ? node
        : best,
    null,
  );
}
