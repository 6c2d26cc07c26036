/** A small picture of all trees over a corner of the drawing; it is away while everything is in view. */
import { pointer, select, type ZoomTransform } from "d3";
import { NODE_HEIGHT, NODE_WIDTH, type PlacedForest, type PlacedNode } from "../../plan/layout/forestLayout";

export interface Minimap {
  draw(placed: PlacedForest): void;
  /** Marks the part that is in view. */
  view(
    placed: PlacedForest,
    transform: ZoomTransform,
    room: { readonly width: number; readonly height: number },
  ): void;
  remove(): void;
}

const WIDTH = 132;
const MOST_HEIGHT = 84;

/** @param onGo the place that the pointer asks for, in the drawing's own units */
export function createMinimap(element: HTMLElement, onGo: (x: number, y: number) => void): Minimap {
  const map = select(element).append("svg").attr("class", "minimap").attr("aria-hidden", "true");
  const nodes = map.append("g");
  const seen = map.append("rect").attr("class", "view");
  map.on("pointerdown pointermove", (event: PointerEvent) => {
    if (event.buttons === 1) onGo(...pointer(event, map.node()));
  });
  return {
    draw: ({ width, height, nodes: placed }) => {
      const scale = Math.min(WIDTH / width, MOST_HEIGHT / height);
      map
        .attr("viewBox", `0 0 ${width} ${height}`)
        .attr("width", width * scale)
        .attr("height", height * scale);
      nodes
        .selectAll<SVGRectElement, PlacedNode>("rect")
        .data(placed, (node) => node.key)
        .join("rect")
        .attr("x", (node) => node.x)
        .attr("y", (node) => node.y - NODE_HEIGHT / 2)
        .attr("width", NODE_WIDTH)
        .attr("height", NODE_HEIGHT);
    },
    view: ({ width, height }, { x, y, k }, room) => {
      const all = x >= -1 && y >= -1 && x + width * k <= room.width + 1 && y + height * k <= room.height + 1;
      map.attr("display", all ? "none" : null);
      seen
        .attr("x", -x / k)
        .attr("y", -y / k)
        .attr("width", room.width / k)
        .attr("height", room.height / k);
    },
    remove: () => {
      map.remove();
    },
  };
}
