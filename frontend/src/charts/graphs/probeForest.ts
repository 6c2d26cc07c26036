/** Draws the probe trees: columns are levels, strokes are tuples per second, line styles the edge kinds. */
import { type Selection, select, zoomIdentity, zoomTransform } from "d3";
import {
  NODE_WIDTH,
  type PlacedForest,
  type PlacedLink,
  type PlacedNode,
} from "../../plan/layout/forestLayout";
import { type Chart, heightOnScreen, motionMs } from "../chart";
import type { ProbeForestData } from "./forestData";
import { appendParts, foldsTree, lookOf, neighbourOf, writeParts } from "./forestNodes";
import { createMinimap } from "./minimap";
import { panOf } from "./pan";

export interface ProbeForestChart extends Chart<ProbeForestData> {
  fit(): void;
  zoomBy(factor: number): void;
  /** Bring a node into the middle and give it the keyboard. */
  reveal(key: string): void;
  /** The drawing and its size, for export; null before the first update. */
  picture(): { readonly svg: SVGSVGElement; readonly width: number; readonly height: number } | null;
}

const UNKNOWN_STROKE = 1.25;
const FIT_LIMIT = 1.15;
const READABLE_SCALE = 0.85;
const LEAST_HEIGHT = 200;

/** Stroke width grows with the logarithm: 0/s is a hairline, each factor of ten adds 1.4 px, at most 9 px. */
export function strokeWidth(tuplesPerSecond: number | null): number {
  if (tuplesPerSecond === null) return UNKNOWN_STROKE;
  return Math.min(9, 1 + 1.4 * Math.log10(1 + tuplesPerSecond));
}

function linkPath(link: PlacedLink): string {
  const [x0, y0] = [link.source.x + NODE_WIDTH, link.source.y];
  const [x1, y1] = [link.target.x, link.target.y];
  const bend = x0 + Math.min(56, (x1 - x0) / 2);
  // Bend early and run straight to the target, so that links that skip levels stay on their own row.
  return `M${x0},${y0}C${bend},${y0} ${bend - 8},${y1} ${Math.min(bend + 28, x1)},${y1}L${x1},${y1}`;
}

export function createProbeForest(element: HTMLElement): ProbeForestChart {
  const svg = select(element)
    .append("svg")
    .attr("class", "forest")
    .attr("role", "tree")
    .attr("aria-label", "Probe trees");
  const scene = svg.append("g");
  const columns = scene.append("g").attr("class", "forest-columns").attr("aria-hidden", "true");
  const links = scene.append("g").attr("class", "forest-links").attr("aria-hidden", "true");
  const nodes = scene.append("g").attr("class", "forest-nodes");
  let latest: ProbeForestData | null = null;
  let fitted = "";
  /** Changes of the plan that were shown as motions; the drawing is `moving` until the newest has arrived. */
  let motions = 0;
  /** What is drawn of each node: only what changes is written again. */
  const written = new Map<string, string>();
  let room = { width: 0, height: 0 };
  const map = createMinimap(element, (x, y) => svg.call(pan.translateTo, x, y));

  const pan = panOf(element, scene, [0.2, 3], () => drawView());
  svg.call(pan).on("dblclick.zoom", null);

  const drawView = (): void => {
    if (latest !== null) map.view(latest.placed, zoomTransform(svg.node() ?? element), room);
  };
  /** Asked for when it changes, not at every drawing: the browser would lay the page out for each answer. */
  const measure = (): void => {
    room = { width: element.clientWidth, height: element.clientHeight };
  };
  const watch =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(() => {
          measure();
          drawView();
        });
  watch?.observe(element);

  /** @param least the smallest scale: readable at first, anything when the whole is asked for */
  const fit = (least: number): void => {
    if (latest === null) return;
    const { width, height } = latest.placed;
    // As tall as the trees, within what a screen can show; what does not fit at a readable size is panned.
    const wide = Math.max(least, Math.min(FIT_LIMIT, (element.clientWidth || width) / width));
    element.style.height = heightOnScreen(height * wide, LEAST_HEIGHT);
    measure();
    const [across, down] = [room.width || width, room.height || height];
    const scale = Math.min(FIT_LIMIT, across / width, down / height);
    const readable = Math.max(scale, least);
    const left = Math.max(0, (across - width * readable) / 2);
    const top = Math.max(0, (down - height * readable) / 2);
    const transform = zoomIdentity.translate(left, top).scale(readable);
    if (motionMs() === 0) svg.call(pan.transform, transform);
    else svg.transition().duration(motionMs()).call(pan.transform, transform);
  };

  /** Keyboard focus must never be out of sight. */
  const reveal = (group: SVGGElement, node: PlacedNode): void => {
    if (!group.matches(":focus-visible")) return;
    const [box, room] = [group.getBoundingClientRect(), element.getBoundingClientRect()];
    const inside =
      box.left >= room.left && box.right <= room.right && box.top >= room.top && box.bottom <= room.bottom;
    if (!inside)
      svg
        .transition()
        .duration(motionMs())
        .call(pan.translateTo, node.x + NODE_WIDTH / 2, node.y);
  };

  const focusedKey = (): string | null =>
    element.contains(document.activeElement)
      ? (document.activeElement?.getAttribute("data-key") ?? null)
      : null;
  const focusNode = (key: string | undefined): void =>
    nodes
      .selectAll<SVGGElement, PlacedNode>("g.node")
      .filter((node) => node.key === key)
      .node()
      ?.focus();

  const onKey = (event: KeyboardEvent, node: PlacedNode): void => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      latest?.onSelect(node.key);
      return;
    }
    if (latest === null || !event.key.startsWith("Arrow")) return;
    if (foldsTree(node, event.key)) latest.onFold(node.key);
    const target = neighbourOf(latest.placed.nodes, node.key, event.key);
    if (target === null) return;
    event.preventDefault();
    focusNode(target);
  };

  const enterNode = (group: Selection<SVGGElement, PlacedNode, SVGGElement, unknown>): void => {
    group
      .attr("tabindex", 0)
      .attr("role", "treeitem")
      .on("pointerenter", (_event, node) => latest?.onHover(node.key))
      .on("focus", function (_event, node) {
        reveal(this, node);
        latest?.onHover(node.key);
      })
      .on("pointerleave blur", () => latest?.onHover(null))
      .on("click", (_event, node) => latest?.onSelect(node.key))
      .on("keydown", onKey);
    appendParts(group, (key) => latest?.onFold(key));
  };

  const update = (data: ProbeForestData): void => {
    const moved = latest?.placed !== data.placed;
    latest = data;
    const { placed } = data;
    const out = (key: string): boolean => data.kept !== null && !data.kept.has(key);

    columns
      .selectAll<SVGGElement, PlacedForest["columns"][number]>("g")
      .data(placed.columns, (column) => column.label)
      .join((enter) => {
        const group = enter.append("g");
        group.append("text").attr("y", 20).attr("x", 2);
        group.append("line").attr("y1", 30).attr("y2", 30).attr("x1", 0).attr("x2", NODE_WIDTH);
        return group;
      })
      .attr("transform", (column) => `translate(${column.x},0)`)
      .select("text")
      .text((column) => column.label);

    const lines = links
      .selectAll<SVGPathElement, PlacedLink>("path")
      .data(placed.links, (link) => link.target.key)
      .join((enter) => enter.append("path").attr("d", linkPath))
      .attr("class", (link) => `link ${link.target.node.edge?.kind ?? "emit"}`)
      .classed("unknown", (link) => data.flow(link) === null)
      .classed("dimmed", (link) => out(link.target.key));
    const still = motionMs() === 0;
    if (still) lines.attr("stroke-width", (link) => strokeWidth(data.flow(link)));
    else
      lines
        .transition("flow")
        .duration(motionMs())
        .attr("stroke-width", (link) => strokeWidth(data.flow(link)));
    if (moved && still) lines.attr("d", linkPath);
    else if (moved) lines.transition("place").duration(motionMs()).attr("d", linkPath);

    const focused = focusedKey();
    const drawn = nodes
      .selectAll<SVGGElement, PlacedNode>("g.node")
      .data(placed.nodes, (node) => node.key)
      .join(
        (enter) => {
          const group = enter
            .append("g")
            .attr("data-key", (node) => node.key)
            .attr("transform", (node) => `translate(${node.x},${node.y})`);
          enterNode(group);
          return group;
        },
        (known) => known,
        (gone) => gone.each((node) => written.delete(node.key)).remove(),
      );
    // Another plan may lack the step that had the keyboard's focus, which the page would lose.
    if (focused !== null && focusedKey() === null)
      focusNode(placed.nodes.find((node) => node.key === focused)?.key ?? placed.nodes[0]?.key);
    const changed = drawn.filter((node) => {
      const now = lookOf(node, data);
      const differs = written.get(node.key) !== now;
      written.set(node.key, now);
      return differs;
    });
    writeParts(changed, data);
    const place = (node: PlacedNode): string => `translate(${node.x},${node.y})`;
    if (moved && still) drawn.attr("transform", place);
    else if (moved) {
      motions += 1;
      const mine = motions;
      svg.classed("moving", true);
      const arrive = (): void => void svg.classed("moving", mine !== motions);
      // A motion that another one takes over from is rejected; the other one arrives.
      drawn.transition().duration(motionMs()).attr("transform", place).end().then(arrive, arrive);
    }

    const size = `${placed.width}x${placed.height}`;
    if (size !== fitted) {
      fitted = size;
      map.draw(placed);
      fit(READABLE_SCALE);
    }
    if (moved) drawView();
  };

  return {
    update,
    fit: () => fit(0),
    reveal: (key) => {
      const node = latest?.placed.nodes.find((candidate) => candidate.key === key);
      if (node === undefined) return;
      svg.call(pan.translateTo, node.x + NODE_WIDTH / 2, node.y);
      focusNode(key);
    },
    picture: () => {
      const drawing = svg.node();
      return latest === null || drawing === null
        ? null
        : { svg: drawing, width: latest.placed.width, height: latest.placed.height };
    },
    zoomBy: (factor) => {
      svg.transition().duration(motionMs()).call(pan.scaleBy, factor);
    },
    dispose: () => {
      watch?.disconnect();
      svg.interrupt().on(".zoom", null);
      svg.remove();
      map.remove();
    },
  };
}
