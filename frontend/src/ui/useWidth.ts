import { useEffect, useRef, useState } from "preact/hooks";

/** The width that the picture has, followed as the page changes. */
export function useWidth(): { host: { current: HTMLDivElement | null }; width: number } {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(Math.round(element.clientWidth));
    measure();
    if (typeof ResizeObserver === "undefined") return undefined;
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return { host, width };
}
