/** What passes values on to be drawn. */
export interface Paced<Value> {
  /** Shows the value, now or soon; one that comes before it is shown takes its place. */
  push(value: Value): void;
  end(): void;
}

/**
 * Shows the newest value at once, but never so often that drawing takes more than half of the time.
 *
 * A drawing that is on the screen stays there for as long as it took to draw. In between the page
 * hears its user and reads what else has arrived: without the pause a browser that is slower than
 * the updates only ever draws, and neither a tap nor an answer is heard.
 */
export function paced<Value>(show: (value: Value) => void): Paced<Value> {
  let waiting: { readonly value: Value } | null = null;
  let busy = false;
  let ended = false;
  const next = (): void => {
    busy = false;
    const { value } = waiting ?? {};
    if (ended || waiting === null) return;
    waiting = null;
    draw(value as Value);
  };
  const draw = (value: Value): void => {
    busy = true;
    const began = performance.now();
    show(value);
    // A page that nobody sees has no frames, and needs none.
    const painted = (): void => void setTimeout(next, performance.now() - began);
    if (document.hidden) setTimeout(painted);
    else requestAnimationFrame(() => setTimeout(painted));
  };
  return {
    push(value) {
      if (busy) waiting = { value };
      else draw(value);
    },
    end() {
      ended = true;
      waiting = null;
    },
  };
}
