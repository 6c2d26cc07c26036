import type { JSX } from "preact";
import type { StreamColour } from "../colour/streams";
import { count, instant, milliseconds, windowLength } from "../format/quantities";
import type { BatchCompleted } from "../live/messages";
import type { PhysicalGraph } from "../plan/physicalGraph";
import { StreamChip } from "../ui/StreamChip";

interface Props {
  readonly graph: PhysicalGraph;
  readonly queries: readonly { readonly id: number; readonly name: string; readonly version: number }[];
  readonly batch: BatchCompleted | null;
  readonly colour: StreamColour;
}

export function QueryTable({ graph, queries, batch, colour }: Props): JSX.Element {
  const ids = new Map(queries.map((query) => [query.name, query]));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Queries">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Query</th>
            <th scope="col">Inputs</th>
            <th scope="col" class="number" title="in the newest batch">Results</th>
            <th scope="col" class="number">p50</th>
            <th scope="col" class="number">p99</th>
            <th scope="col">Complete since</th>
          </tr>
        </thead>
        <tbody>
          {graph.queries.map((query) => {
            const known = ids.get(query.name);
            const metrics = batch?.queries[query.name];
            return (
              <tr key={query.name}>
                <td>{known === undefined ? query.name : <a class="row-link" href={`/queries/${known.id}/`}>{query.name}</a>} {known !== undefined && <span class="muted">v{known.version}</span>}</td>
                <td class="chips">{query.inputs.map((input) => <StreamChip key={input.alias} stream={input.stream} colour={colour} />)} <span class="muted">{[...new Set(query.inputs.map((input) => windowLength(input.window_us === null ? null : input.window_us / 1000)))].join(", ")}</span></td>
                <td class="number">{count(metrics?.results)}</td>
                <td class="number">{milliseconds(metrics?.latency_ms_p50)}</td>
                <td class="number">{milliseconds(metrics?.latency_ms_p99)}</td>
                <td>{metrics === undefined ? "–" : metrics.complete_since === null ? "its window is filling" : `${instant(metrics.complete_since)} UTC`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
