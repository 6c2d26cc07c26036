import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunDocument, TopologyDocument } from "../api/documents";
import { answered, client } from "../api/request";
import { ago, count, instant, UNKNOWN } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { Fact } from "../ui/Fact";
import { Opened } from "../ui/Opened";
import { ProblemLine } from "../ui/ProblemLine";
import { QuotaLine } from "../ui/QuotaLine";
import { StatusBadge } from "../ui/StatusBadge";
import { ScrollText } from "../ui/table/ScrollText";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";
import { AuditTrail } from "./AuditTrail";
import { LiveTimeline } from "./BatchTimeline";
import { JobForm } from "./JobForm";
import { MemoryForm } from "./MemoryForm";
import { limitText } from "./memoryLimit";
import { PlannerForm } from "./PlannerForm";
import { QueryPlacement } from "./QueryPlacement";
import { RunLogTail } from "./RunLogTail";
import { ScaleForm } from "./ScaleForm";
import { TopologyActions } from "./TopologyActions";

const REFRESH_MS = 2500;
const RUNS = 20;

/**
 * One block per topology: its job now, what may be done, its runs and the log of a chosen one, its batches,
 * queries and tasks.
 */
export function JobsIsland({ me }: IslandProps): JSX.Element {
  const topologies = useLoaded(() => answered(client.GET("/api/topologies/")), REFRESH_MS);
  return (
    <section class="jobs">
      <ProblemLine text={topologies.problem} />
      {topologies.value?.length === 0 && (
        <p class="empty">
          No job yet. <a href="/queries/">Deploy a query</a>: its topology starts automatically.
        </p>
      )}
      {topologies.value?.map((topology) => (
        <TopologyJobs
          key={topology.name}
          topology={topology}
          topologies={topologies.value?.map((one) => one.name) ?? []}
          operator={me.is_operator}
          onDone={topologies.reload}
        />
      ))}
      <QuotaLine />
    </section>
  );
}

interface Props {
  readonly topology: TopologyDocument;
  /** All there are, by name. */
  readonly topologies: readonly string[];
  readonly operator: boolean;
  readonly onDone: () => void;
}

function TopologyJobs({ topology, topologies, operator, onDone }: Props): JSX.Element {
  const now = useNow();
  const runs = useLoaded(
    () => answered(client.GET("/api/runs/", { params: { query: { topology: topology.name, limit: RUNS } } })),
    REFRESH_MS,
    topology.name,
  );
  const [open, setOpen] = useState<string | null>(null);
  const { run } = topology;
  const columns: readonly Column<RunDocument>[] = [
    { label: "Run", class: "mono", cell: ({ id }) => id.slice(0, 12) },
    { label: "State", cell: ({ state }) => <StatusBadge state={state} /> },
    {
      label: "Started",
      kind: "wide",
      cellTitle: ({ started_at }) => `${instant(started_at)} UTC`,
      cell: ({ started_at }) => ago(started_at, now),
    },
    {
      label: "Ended",
      kind: "wide",
      cell: ({ ended_at }) => (ended_at === null ? UNKNOWN : ago(ended_at, now)),
    },
    { label: "Batches", kind: "number", cell: ({ batch }) => (batch === null ? UNKNOWN : count(batch)) },
    {
      label: "Last error",
      class: "clip",
      cellTitle: ({ error, error_detail }) => error_detail ?? error ?? "",
      cell: ({ error }) => error ?? UNKNOWN,
    },
    {
      label: "Log",
      cell: ({ id }) => (
        <button
          type="button"
          class="link"
          aria-expanded={open === id}
          onClick={() => setOpen(open === id ? null : id)}
        >
          {open === id ? "hide" : "show"}
        </button>
      ),
    },
  ];
  return (
    <article class="job">
      <div class="toolbar">
        <h2>
          <a href={`/topologies/${encodeURIComponent(topology.name)}/`}>{topology.name}</a>
        </h2>
        <StatusBadge state={topology.state} />
        <span class="grow" />
        <TopologyActions topology={topology} operator={operator} onDone={onDone} />
      </div>
      <dl class="numbers">
        <Fact
          label="since"
          value={ago(run?.started_at, now)}
          title={run?.started_at ? `${instant(run.started_at)} UTC` : ""}
        />
        <Fact label="heartbeat" value={ago(run?.heartbeat_at, now)} />
        <Fact label="batch" value={run?.batch ?? UNKNOWN} />
        <Fact label="restarts" value={count(topology.restarts)} />
        <Fact label="queries" value={count(topology.queries.length)} />
        <Fact
          label="memory limit"
          value={limitText(topology.memory_limit_bytes)}
          title="How much of its stores may be in memory"
        />
        <Fact
          label="process"
          value={run?.pid === null || run === null ? UNKNOWN : `${run.pid} on ${run.host}`}
        />
      </dl>
      {topology.error !== null && (
        <p class="problem-line" role="alert">
          ✕ {topology.error}
          {topology.restart_at === null
            ? " It will not restart automatically."
            : ` It restarts at ${instant(topology.restart_at)} UTC.`}
        </p>
      )}
      {topology.error !== null && (run?.error_detail ?? null) !== null && (
        <details open>
          <summary>The last lines of its log</summary>
          <ScrollText text={run?.error_detail ?? ""} />
        </details>
      )}
      {topology.error === null && topology.deployment.error !== null && (
        <p class="problem-line" role="alert">
          ✕ The last change has no plan, what ran before goes on: {topology.deployment.error}
        </p>
      )}
      {topology.waiting !== null && (
        <p class="notice" role="status">
          {topology.waiting}
        </p>
      )}
      <ProblemLine text={runs.problem} />
      {runs.value?.length === 0 && (
        <p class="empty">It has never run. Start it when its queries are ready.</p>
      )}
      {runs.value !== null && runs.value.length > 0 && (
        <div class="table-scroll">
          <Table columns={columns} rows={runs.value} rowKey={({ id }) => id} />
        </div>
      )}
      {open !== null && <RunLogTail key={open} id={open} />}
      <Opened summary="Batches by level">
        {() => <LiveTimeline topology={topology.name} triggerMs={topology.trigger_ms} />}
      </Opened>
      <Opened summary="Queries and where they run">
        {() => (
          <QueryPlacement topology={topology} topologies={topologies} operator={operator} onDone={onDone} />
        )}
      </Opened>
      <Opened summary="Scale">
        {() => <ScaleForm topology={topology.name} operator={operator} onDone={onDone} />}
      </Opened>
      <Opened summary="Planner">
        {() => <PlannerForm topology={topology.name} operator={operator} onDone={onDone} />}
      </Opened>
      <Opened summary="Job settings">
        {() => <JobForm topology={topology.name} operator={operator} onDone={onDone} />}
      </Opened>
      <Opened summary="Memory">
        {() => <MemoryForm topology={topology} operator={operator} onDone={onDone} />}
      </Opened>
      <AuditTrail topology={topology.name} />
    </article>
  );
}
