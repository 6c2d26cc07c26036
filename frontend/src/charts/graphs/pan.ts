/** Drawings that are dragged, and zoomed with Ctrl and the wheel. */
import { type Selection, type ZoomBehavior, zoom } from "d3";

type Scene = Selection<SVGGElement, unknown, null, undefined>;

/** The behaviour of an SVG in `element`, whose `scene` is what moves. */
export function panOf(
  element: HTMLElement,
  scene: Scene,
  scales: [least: number, most: number],
  onMove: () => void = () => {},
): ZoomBehavior<SVGSVGElement, unknown> {
  return (
    zoom<SVGSVGElement, unknown>()
      // Never empty, as of a drawing that is hidden: a motion through an empty extent leads through NaN.
      .extent(() => [
        [0, 0],
        [element.clientWidth || 1, element.clientHeight || 1],
      ])
      .scaleExtent(scales)
      // The wheel scrolls the page; it zooms only together with Ctrl, like a pinch.
      .filter((event: Event) =>
        event.type === "wheel" ? (event as WheelEvent).ctrlKey : !(event as MouseEvent).button,
      )
      .on("zoom", (event: { transform: { toString(): string } }) => {
        scene.attr("transform", event.transform.toString());
        onMove();
      })
  );
}
