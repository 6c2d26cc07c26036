import type { JSX } from "preact";
import type { ForestNode } from "../../plan/forest";
import type { GraphStore } from "../../plan/physicalGraph";
import { NodeFacts, type Observed } from "./NodeFacts";
import { StoreFacts } from "./StoreFacts";

interface Props extends Observed {
  readonly node: ForestNode | null;
  readonly store: GraphStore | null;
}

/** Beside the trees: everything about the step under the pointer, the focus or the selection. */
export function NodeDetail({ node, store, graph, rates, batch, statistics, colour }: Props): JSX.Element {
  if (node === null && store === null) {
    return (
      <aside class="pane detail" aria-label="Details">
        <p class="muted">
          Point at a step, or move with Tab and the arrow keys, to see what it checks, its store, and the
          estimate beside what happens. A query shows just its paths.
        </p>
      </aside>
    );
  }
  return (
    <aside class="pane detail" aria-label="Details" aria-live="polite">
      {node !== null ? (
        <NodeFacts
          node={node}
          graph={graph}
          rates={rates}
          batch={batch}
          statistics={statistics}
          colour={colour}
        />
      ) : (
        store !== null && (
          <>
            <h3>{store.label}</h3>
            <dl>
              <StoreFacts store={store} graph={graph} batch={batch} statistics={statistics} />
            </dl>
          </>
        )
      )}
    </aside>
  );
}
