import type { ComponentChildren, JSX } from "preact";

/** One line of a list of facts. */
export function Row({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}
