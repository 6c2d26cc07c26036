import type { JSX } from "preact";

/** Text with its own line breaks, which scrolls by itself where it is wider than the page. */
export function ScrollText({ text }: { readonly text: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: axe's scrollable-region-focusable
    <pre class="explain" tabIndex={0}>
      {text}
    </pre>
  );
}
