/** Charts that are as wide as their element. */
import type { Chart } from "./chart";

/**
 * A chart that is drawn with every update, and again when its element gets another width.
 * @param draw gets the newest data and the element's width in pixels
 */
export function sizedChart<Data>(
  element: HTMLElement,
  root: { remove: () => unknown },
  draw: (data: Data, room: number) => void,
): Chart<Data> {
  let latest: { readonly data: Data } | null = null;
  // Asked for when it changes, not at every drawing: the browser would lay the page out for each answer.
  let room = element.clientWidth;
  const watch =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(() => {
          room = element.clientWidth;
          if (latest !== null) draw(latest.data, room);
        });
  watch?.observe(element);
  return {
    update(data) {
      latest = { data };
      draw(data, room);
    },
    dispose() {
      watch?.disconnect();
      root.remove();
    },
  };
}
