import type { ComponentChildren, JSX } from "preact";

/** A named part of the page that scrolls by itself: wide tables, large drawings. */
export function ScrollArea({
  label,
  class: className = "table-scroll",
  children,
}: {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: axe's scrollable-region-focusable
    <section class={className} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
