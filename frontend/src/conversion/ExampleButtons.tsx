import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { answered, client } from "../api/request";
import { Button } from "../ui/Button";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { examplesOf } from "./examples";

interface Props {
  readonly disabled: boolean;
  readonly onChoose: (sql: string) => void;
}

/** Queries that are converted at a click. */
export function ExampleButtons({ disabled, onChoose }: Props): JSX.Element {
  const { value: streams, problem } = useLoaded(() => answered(client.GET("/api/streams/")));
  const examples = useMemo(() => examplesOf(streams ?? []), [streams]);
  if (streams === null) return <ProblemLine text={problem} />;
  if (examples.length === 0)
    return (
      <p class="muted">
        Examples need two streams that have a column in common, such as <code>orders</code> and{" "}
        <code>payments</code> with an <code>order_id</code> each.{" "}
        <a href="/streams/?register">Register a stream</a>
      </p>
    );
  return (
    <fieldset class="toolbar examples">
      <legend>Examples</legend>
      {examples.map(({ title, sql }) => (
        <Button key={title} small disabled={disabled} onClick={() => onChoose(sql)}>
          {title}
        </Button>
      ))}
    </fieldset>
  );
}
