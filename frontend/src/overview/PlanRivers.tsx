import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { ChartHost } from "../charts/ChartHost";
import { createRiver, type RiverData } from "../charts/graphs/river";
import { type StreamColour, streamColours } from "../colour/streams";
import { plural } from "../format/quantities";
import type { PhysicalGraph } from "../plan/physicalGraph";
import { layoutRiver } from "../plan/river/layout";
import { riverOf } from "../plan/river/river";
import { useWidth } from "../ui/useWidth";

/** Further rivers would push the newest results out of sight. */
const RIVERS_MOST = 2;
const HEIGHT_PX = 150;
const LABELS_PX = 222;
const NARROW_PX = 560;

interface Props {
  readonly topologies: readonly TopologyDocument[];
  readonly graphs: ReadonlyMap<string, PhysicalGraph>;
  /** All registered streams: colours follow from their names. */
  readonly streams: readonly string[];
}

/** The plans with most queries, each as a small river that leads to its page. */
export function PlanRivers({ topologies, graphs, streams }: Props): JSX.Element | null {
  const colour = useMemo(() => streamColours(streams), [streams]);
  const drawn = topologies
    .flatMap((topology) => {
      const graph = graphs.get(topology.plan_id ?? "");
      return graph === undefined || graph.queries.length === 0 ? [] : [{ name: topology.name, graph }];
    })
    .sort((a, b) => b.graph.queries.length - a.graph.queries.length)
    .slice(0, RIVERS_MOST);
  if (drawn.length === 0) return null;
  return (
    <div class="plan-rivers">
      {drawn.map(({ name, graph }) => (
        <SmallRiver key={name} name={name} graph={graph} colour={colour} />
      ))}
    </div>
  );
}

interface RiverProps {
  readonly name: string;
  readonly graph: PhysicalGraph;
  readonly colour: StreamColour;
}

function SmallRiver({ name, graph, colour }: RiverProps): JSX.Element {
  const { host, width } = useWidth();
  const river = useMemo(() => {
    const estimates = new Map(graph.estimates.map((one) => [one.id, one.tuples_per_second]));
    return riverOf(graph, { measure: "tuples", costs: null, rates: (id) => estimates.get(id) ?? null });
  }, [graph]);
  const address = `/topologies/${encodeURIComponent(name)}/`;
  const data = useMemo((): RiverData => {
    const labels = width < NARROW_PX ? 0 : LABELS_PX;
    return {
      placed: layoutRiver(river, { width, height: HEIGHT_PX, gap: 13, labels }),
      colour,
      most: Math.max(1, ...river.links.map(({ queries }) => queries.size)),
      lit: null,
      selected: null,
      stepLabels: false,
      nodeTitle: ({ node }) => node.label,
      linkTitle: ({ link }) => `for ${plural(link.queries.size, "query", "queries")}`,
      onHover: null,
      onSelect: () => window.location.assign(address),
    };
  }, [river, width, colour]);
  return (
    <section aria-label={`River of ${name}`}>
      <h2>
        <a href={address}>{name}</a>{" "}
        <span class="muted small">
          {plural(graph.streams.length, "stream")}, {plural(graph.stores.length, "store")},{" "}
          {plural(graph.queries.length, "query", "queries")} · width: tuples per second of event time,
          estimated
        </span>
      </h2>
      <div ref={host} class="river-room small-river">
        {width > 0 && (
          <ChartHost create={createRiver} data={data} class="river-host" label={`Plan of ${name}`} />
        )}
      </div>
    </section>
  );
}
