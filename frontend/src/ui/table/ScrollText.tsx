import type { JSX } from "preact";

/** Text with its own line breaks, which scrolls by itself where it is wider than the page. */
export function ScrollText({ text }: { readonly text: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what has the focus (axe: scrollable-region-focusable)
    <pre class="explain" tabIndex={0}>
      {text}
    </pre>
  );
}
