import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { bytes, count, milliseconds, percent } from "../../format/quantities";
import type { BatchCompleted } from "../../live/messages";
import { bottlenecks, type Worst } from "../../plan/bottlenecks";
import type { PhysicalGraph } from "../../plan/physicalGraph";

/**
 * Where to look first: the slowest level and the stores that stand out, each leading to its place in the
 * trees.
 */
export function BottleneckLine({
  graph,
  batch,
}: {
  graph: PhysicalGraph;
  batch: BatchCompleted | null;
}): JSX.Element | null {
  const found = useMemo(() => bottlenecks(graph, batch), [graph, batch]);
  const worst = (
    label: string,
    title: string,
    one: Worst | null,
    value: (number: number) => string,
  ): JSX.Element | null =>
    one === null ? null : (
      <div title={title}>
        <dt>{label}</dt>
        <dd>
          <a href={`#${encodeURIComponent(one.store.id)}`}>{one.store.label}</a>{" "}
          <span class="muted">
            {value(one.value)}
            {one.share === null ? "" : `, ${percent(one.share)}`}
          </span>
        </dd>
      </div>
    );
  if (Object.values(found).every((one) => one === null)) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a list of facts, and no fieldset of a form
    <div role="group" aria-label="Bottlenecks in the newest batch">
      <dl class="bottlenecks">
        {found.level !== null && (
          <div title="the slowest task of that level in the newest batch, and its share of all levels">
            <dt>slowest level</dt>
            <dd>
              {found.level.level === 0 ? "ingestion" : `level ${found.level.level}`}{" "}
              <span class="muted">
                {milliseconds(found.level.seconds * 1000)}, {percent(found.level.share)}
              </span>
            </dd>
          </div>
        )}
        {worst("largest store", "bytes held, and the share of all stores", found.largest, bytes)}
        {worst(
          "most probed",
          "probing tuples in the newest batch, and the share of all stores",
          found.mostProbed,
          count,
        )}
        {worst(
          "most matches",
          "per probe in the newest batch: where a join multiplies",
          found.mostMatches,
          (value) => `×${value < 100 ? value.toFixed(1) : count(value)} per probe`,
        )}
        {worst(
          "least even",
          "fullest task over the mean",
          found.mostSkewed,
          (value) => `×${value.toFixed(2)}`,
        )}
      </dl>
    </div>
  );
}
