import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, client } from "../api/request";
import { streamColours } from "../colour/streams";
import { count } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { ProblemLine } from "../ui/ProblemLine";
import { StatusBadge } from "../ui/StatusBadge";
import { StreamChip } from "../ui/StreamChip";
import { type Column, Table } from "../ui/table/Table";
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
  const columns: readonly Column<TopologyDocument>[] = [
    {
      label: "Topology",
      cell: ({ name }) => (
        <a class="row-link" href={`/topologies/${encodeURIComponent(name)}/`}>
          {name}
        </a>
      ),
    },
    { label: "State", cell: ({ state, error }) => <StatusBadge state={state} title={error} /> },
    {
      label: "Queries",
      kind: "number",
      cell: ({ queries, other_queries }) => count(queries.length + other_queries),
    },
    {
      label: "Streams",
      class: "chips",
      cell: ({ streams }) => streams.map((name) => <StreamChip key={name} stream={name} colour={colour} />),
    },
    { label: "Plan", kind: "wide", class: "mono", cell: ({ plan_id }) => plan_id?.slice(0, 14) ?? "–" },
  ];
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
          <Table columns={columns} rows={topologies.value} rowKey={({ name }) => name} />
        </div>
      )}
    </section>
  );
}
