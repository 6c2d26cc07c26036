import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunDocument, TopologyDocument } from "../api/documents";
import { answered, client } from "../api/request";
import { ago, count, instant, UNKNOWN } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { Opened } from "../ui/Opened";
import { ProblemLine } from "../ui/ProblemLine";
import { QuotaLine } from "../ui/QuotaLine";
import { StatusBadge } from "../ui/StatusBadge";
import { TableHead } from "../ui/table/TableHead";
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
        <div>
          <dt>since</dt>
          <dd title={run?.started_at === null || run === null ? "" : `${instant(run.started_at)} UTC`}>
            {ago(run?.started_at, now)}
          </dd>
        </div>
        <div>
          <dt>heartbeat</dt>
          <dd>{ago(run?.heartbeat_at, now)}</dd>
        </div>
        <div>
          <dt>batch</dt>
          <dd>{run?.batch === null || run === null ? UNKNOWN : String(run.batch)}</dd>
        </div>
        <div>
          <dt>restarts</dt>
          <dd>{count(topology.restarts)}</dd>
        </div>
        <div>
          <dt>queries</dt>
          <dd>{count(topology.queries.length)}</dd>
        </div>
        <div title="How much of its stores may be in memory">
          <dt>memory limit</dt>
          <dd>{limitText(topology.memory_limit_bytes)}</dd>
        </div>
        <div>
          <dt>process</dt>
          <dd>{run?.pid === null || run === null ? UNKNOWN : `${run.pid} on ${run.host}`}</dd>
        </div>
      </dl>
      {topology.error !== null && (
        <p class="problem-line" role="alert">
          ✕ {topology.error}
          {topology.restart_at === null
            ? " It will not restart automatically."
            : ` It restarts at ${instant(topology.restart_at)} UTC.`}
        </p>
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
      {runs.problem !== null && <p class="problem-line">{runs.problem}</p>}
      {runs.value?.length === 0 && (
        <p class="empty">It has never run. Start it when its queries are ready.</p>
      )}
      {runs.value !== null && runs.value.length > 0 && (
        <div class="table-scroll">
          <table class="list stack">
            <TableHead
              columns={[
                "Run",
                "State",
                { label: "Started", class: "wide" },
                { label: "Ended", class: "wide" },
                { label: "Batches", class: "number" },
                "Last error",
                "Log",
              ]}
            />
            <tbody>
              {runs.value.map((entry) => (
                <RunRow
                  key={entry.id}
                  run={entry}
                  now={now}
                  open={open === entry.id}
                  onToggle={() => setOpen(open === entry.id ? null : entry.id)}
                />
              ))}
            </tbody>
          </table>
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

function RunRow({
  run,
  now,
  open,
  onToggle,
}: {
  run: RunDocument;
  now: number;
  open: boolean;
  onToggle: () => void;
}): JSX.Element {
  return (
    <tr>
      <td class="mono">{run.id.slice(0, 12)}</td>
      <td>
        <StatusBadge state={run.state} />
      </td>
      <td class="wide" title={`${instant(run.started_at)} UTC`}>
        {ago(run.started_at, now)}
      </td>
      <td class="wide">{run.ended_at === null ? UNKNOWN : ago(run.ended_at, now)}</td>
      <td class="number" data-label="batches">
        {run.batch === null ? UNKNOWN : count(run.batch)}
      </td>
      <td class="clip" title={run.error_detail ?? run.error ?? ""}>
        {run.error ?? UNKNOWN}
      </td>
      <td>
        <button type="button" class="link" aria-expanded={open} onClick={onToggle}>
          {open ? "hide" : "show"}
        </button>
      </td>
    </tr>
  );
}
