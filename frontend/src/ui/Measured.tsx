import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ChartHost } from "../charts/ChartHost";
import { createSparkline } from "../charts/sparkline";

interface Props {
  /** What is measured, for those who do not see the line. */
  readonly label: string;
  readonly text: string;
  /** Oldest first. */
  readonly values: readonly (number | null)[];
  /** What the line spans. */
  readonly title: string;
  readonly colour: string;
}

/** A number, and beneath it a small line of how it came about. */
export function Measured({ label, text, values, title, colour }: Props): JSX.Element {
  const data = useMemo(() => ({ values, colour, title }), [values.join(","), colour, title]);
  return (
    <>
      <div class="measure">{text}</div>
      <ChartHost create={createSparkline} data={data} class="spark-host" label={label} />
    </>
  );
}
