import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

/** A part of the page that asks for nothing until somebody opens it. */
export function Opened({
  summary,
  children,
}: {
  summary: string;
  children: () => ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  );
}
