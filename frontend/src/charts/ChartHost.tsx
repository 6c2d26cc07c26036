import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Chart } from "./chart";

interface Props<Data, Made extends Chart<Data>> {
  readonly create: (element: HTMLElement) => Made;
  readonly data: Data;
  readonly class: string;
  readonly label: string;
  /** Receives the chart once it exists, for its own commands (zoom, fit). */
  readonly onReady?: (chart: Made) => void;
}

/** Gives a D3 chart an element and a life: create on mount, update on every change, dispose at the end. */
export function ChartHost<Data, Made extends Chart<Data>>(props: Props<Data, Made>): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Made | null>(null);
  const { create, data, onReady } = props;
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    const made = create(element.current);
    chart.current = made;
    onReady?.(made);
    return () => {
      made.dispose();
      chart.current = null;
    };
    // A chart is created once; its inputs reach it through update.
  }, []);
  // Drawn with the change that it belongs to, so that a batch costs the browser one frame and not two.
  useLayoutEffect(() => {
    chart.current?.update(data);
  }, [data]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing, and no fieldset of a form
    <div ref={element} class={props.class} role="group" aria-label={props.label} />
  );
}
