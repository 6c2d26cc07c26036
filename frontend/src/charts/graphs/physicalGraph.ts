/**
 * Draws the physical graph: boxes where ELK put them, lines along its routes, strokes as tuples per second.
 */
import { curveLinear, line, select, zoomIdentity } from "d3";
import type { StreamColour } from "../../colour/streams";
import { BOX_HEIGHT, BOX_WIDTH, type PlacedBoxes } from "../../plan/layout/physicalView";
import { type Chart, heightOnScreen, writeText } from "../chart";
import { panOf } from "./pan";
import { strokeWidth } from "./probeForest";

export interface PhysicalGraphData {
  readonly placed: PlacedBoxes;
  readonly colour: StreamColour;
  /** The second line of a store's box. */
  readonly detail: (id: string) => string | null;
  /** Tuples per second along an edge; null is unknown. */
  readonly flow: (edge: string) => number | null;
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
}

const MARGIN = 16;
const FIT_LIMIT = 1.1;
type PlacedBox = PlacedBoxes["boxes"][number];
type PlacedLine = PlacedBoxes["lines"][number];

const path = line<readonly [number, number]>().curve(curveLinear);

export function createPhysicalGraph(element: HTMLElement): Chart<PhysicalGraphData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "forest physical")
    .attr("role", "group")
    .attr("aria-label", "Physical graph");
  const scene = svg.append("g");
  const lines = scene.append("g").attr("aria-hidden", "true");
  const boxes = scene.append("g");
  let latest: PhysicalGraphData | null = null;
  let fitted = "";
  const pan = panOf(element, scene, [0.1, 3]);
  svg.call(pan).on("dblclick.zoom", null);

  const fit = (width: number, height: number): void => {
    const wide = Math.min(FIT_LIMIT, (element.clientWidth || width) / (width + 2 * MARGIN));
    element.style.height = heightOnScreen((height + 2 * MARGIN) * wide, 200);
    const room = { width: element.clientWidth || width, height: element.clientHeight || height };
    const scale = Math.min(FIT_LIMIT, room.width / (width + 2 * MARGIN), room.height / (height + 2 * MARGIN));
    svg.call(
      pan.transform,
      zoomIdentity
        .translate((room.width - width * scale) / 2, (room.height - height * scale) / 2)
        .scale(scale),
    );
  };

  return {
    update(data) {
      latest = data;
      const { placed } = data;
      lines
        .selectAll<SVGPathElement, PlacedLine>("path")
        .data(placed.lines, (one) => one.id)
        .join("path")
        .attr("class", (one) => `link ${one.kind}`)
        .classed("unknown", (one) => data.flow(one.id) === null)
        .attr("stroke-width", (one) => strokeWidth(data.flow(one.id)))
        .attr("d", (one) => path([...one.points]));
      const drawn = boxes
        .selectAll<SVGGElement, PlacedBox>("g.node")
        .data(placed.boxes, (box) => box.id)
        .join((enter) => {
          const group = enter
            .append("g")
            .attr("tabindex", 0)
            .attr("role", "button")
            .on("click", (_event, box) => latest?.onSelect(box.id))
            .on("keydown", (event: KeyboardEvent, box) => {
              if (event.key !== "Enter" && event.key !== " ") return;
              event.preventDefault();
              latest?.onSelect(box.id);
            });
          group.append("title");
          group
            .append("rect")
            .attr("class", "box")
            .attr("width", BOX_WIDTH)
            .attr("height", BOX_HEIGHT)
            .attr("rx", 5);
          group
            .append("rect")
            .attr("class", "stripe")
            .attr("width", 5)
            .attr("height", BOX_HEIGHT)
            .attr("rx", 2);
          group.append("text").attr("class", "label").attr("x", 13).attr("y", 17);
          group.append("text").attr("class", "detail").attr("x", 13).attr("y", 32);
          return group;
        })
        .attr("class", (box) => `node ${box.kind}`)
        .classed("selected", (box) => box.id === data.selected)
        .attr("data-key", (box) => box.id)
        .attr("transform", (box) => `translate(${box.x},${box.y})`);
      const clip = (text: string): string => (text.length > 21 ? `${text.slice(0, 20)}…` : text);
      // The title is the name that is read out; a label of its own would have to repeat what is drawn.
      writeText(
        drawn.select("title"),
        (box) => `${box.kind} ${box.label}, ${data.detail(box.id) ?? box.detail}`,
      );
      drawn
        .select("rect.stripe")
        .attr("fill", (box) => (box.stream === null ? "var(--line-strong)" : data.colour(box.stream)));
      writeText(drawn.select("text.label"), (box) => clip(box.label));
      writeText(drawn.select("text.detail"), (box) => data.detail(box.id) ?? box.detail);
      const size = `${placed.width}x${placed.height}`;
      if (size !== fitted) {
        fitted = size;
        fit(placed.width, placed.height);
      }
    },
    dispose() {
      svg.on(".zoom", null);
      svg.remove();
    },
  };
}
