import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { answered, client } from "../api/request";
import { streamColours } from "../colour/streams";
import { count } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { ProblemLine } from "../ui/ProblemLine";
import { StatusBadge } from "../ui/StatusBadge";
import { StreamChip } from "../ui/StreamChip";
import { TableHead } from "../ui/table/TableHead";
import { useLoaded } from "../ui/useLoaded";
import { Topology } from "./Topology";

const REFRESH_MS = 4000;

export function TopologyIsland({ topology, me }: IslandProps): JSX.Element {
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  const colour = useMemo(
    () => streamColours((streams.value ?? []).map((stream) => stream.name)),
    [streams.value],
  );
  return topology === null ? (
    <TopologyList colour={colour} />
  ) : (
    <Topology name={topology} colour={colour} operator={me.is_operator} />
  );
}

function TopologyList({ colour }: { colour: ReturnType<typeof streamColours> }): JSX.Element {
  const topologies = useLoaded(() => answered(client.GET("/api/topologies/")), REFRESH_MS);
  return (
    <section>
      <ProblemLine text={topologies.problem} />
      {topologies.value?.length === 0 && (
        <p class="empty">
          No topology yet. <a href="/queries/">Deploy a query</a>, and the job that answers it appears here.
        </p>
      )}
      {topologies.value !== null && topologies.value.length > 0 && (
        <div class="table-scroll">
          <table class="list stack">
            <TableHead
              columns={[
                "Topology",
                "State",
                { label: "Queries", class: "number" },
                "Streams",
                { label: "Plan", class: "wide" },
              ]}
            />
            <tbody>
              {topologies.value.map((topology) => (
                <tr key={topology.name}>
                  <td>
                    <a class="row-link" href={`/topologies/${encodeURIComponent(topology.name)}/`}>
                      {topology.name}
                    </a>
                  </td>
                  <td>
                    <StatusBadge state={topology.state} title={topology.error} />
                  </td>
                  <td class="number" data-label="queries">
                    {count(topology.queries.length)}
                  </td>
                  <td class="chips">
                    {topology.streams.map((stream) => (
                      <StreamChip key={stream} stream={stream} colour={colour} />
                    ))}
                  </td>
                  <td class="wide mono">{topology.plan_id?.slice(0, 14) ?? "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
