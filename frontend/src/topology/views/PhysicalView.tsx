import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { explainError } from "../../api/request";
import { ChartHost } from "../../charts/ChartHost";
import { createPhysicalGraph, type PhysicalGraphData } from "../../charts/graphs/physicalGraph";
import type { StreamColour } from "../../colour/streams";
import { bytes, count } from "../../format/quantities";
import { knownRates } from "../../live/recent";
import type { Live } from "../../live/useFeed";
import { boxesOf, boxesOfQuery, layoutBoxes, type PlacedBoxes } from "../../plan/layout/physicalView";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { Button } from "../../ui/Button";
import { ProblemLine } from "../../ui/ProblemLine";
import { useAddress } from "../../ui/useAddress";
import { NodeDetail } from "../detail/NodeDetail";
import { QueryChoice } from "./QueryChoice";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
}

/** More boxes than this are not laid out unasked: it takes seconds, and nobody can read them. */
const BOXES_MOST = 200;

/** The same plan with each store once: which parts of the machine talk to each other, and how much. */
export function PhysicalView({ graph, live, colour }: Props): JSX.Element {
  const [placed, setPlaced] = useState<PlacedBoxes | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const [asked, setAsked] = useAddress("query");
  const query = graph.queries.some((entry) => entry.name === asked) ? asked : null;
  const boxes = useMemo(() => (query === null ? boxesOf(graph) : boxesOfQuery(graph, query)), [graph, query]);
  const [wanted, setWanted] = useState(false);
  const tooMany = boxes.boxes.length > BOXES_MOST && !wanted;
  useEffect(() => {
    setProblem(null);
    // What was laid out before stays in view, and in hand, until the next is there.
    if (tooMany) return undefined;
    let newest = true;
    layoutBoxes(boxes).then(
      (made) => newest && setPlaced(made),
      (error: unknown) => newest && setProblem(explainError(error)),
    );
    return () => {
      newest = false;
    };
  }, [boxes, tooMany]);
  const statistics = live.snapshot?.statistics ?? null;
  const rates = useMemo(
    () => knownRates(live.recent, live.snapshot?.history ?? [], statistics),
    [live.recent, statistics],
  );
  const batch = live.snapshot?.batch ?? null;
  const data = useMemo((): PhysicalGraphData | null => {
    if (placed === null || tooMany) return null;
    return {
      placed,
      colour,
      detail: (id) => {
        const metrics = batch?.stores[id];
        return metrics === undefined ? null : `${count(metrics.tuples)} tuples, ${bytes(metrics.bytes)}`;
      },
      flow: (edge) => rates(edge).now ?? rates(edge).eventTime,
      selected,
      onSelect: (id) => setSelected((before) => (before === id ? null : id)),
    };
  }, [placed, tooMany, colour, rates, batch, selected]);
  return (
    <div class="trees">
      <div class="trees-main">
        <div class="toolbar tree-tools">
          <h2>Physical graph</h2>
          <QueryChoice graph={graph} query={query} onChoose={setAsked} />
        </div>
        <ProblemLine text={problem} />
        {tooMany && (
          <p class="empty">
            This plan has {boxes.boxes.length} boxes: choose a query to see its part.{" "}
            <Button small onClick={() => setWanted(true)}>
              Draw it all anyway
            </Button>
          </p>
        )}
        {data === null ? (
          !tooMany && problem === null && <p class="muted">Laying out…</p>
        ) : (
          <ChartHost
            create={createPhysicalGraph}
            data={data}
            class="forest-host"
            label="Physical graph; Tab moves, Enter selects"
          />
        )}
        <p class="legend muted small">
          <span>
            sources, stores, queries · one line per edge · stroke: tuples per second · drag to pan, Ctrl-wheel
            to zoom
          </span>
        </p>
      </div>
      <NodeDetail
        node={null}
        store={graph.stores.find((store) => store.id === selected) ?? null}
        graph={graph}
        rates={rates}
        batch={batch}
        statistics={statistics}
        colour={colour}
      />
    </div>
  );
}
