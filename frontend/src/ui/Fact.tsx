import type { ComponentChildren, JSX } from "preact";

interface Props {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly title?: string | undefined;
}

/** One of a list of numbers: its name above its value. */
export function Fact({ label, value, title }: Props): JSX.Element {
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
