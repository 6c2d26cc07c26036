import type { ComponentChildren, JSX } from "preact";
import type { TopologyDocument } from "../../api/documents";
import { bytes, coresText, count, milliseconds, plural, rate, span } from "../../format/quantities";
import { ConnectionSign } from "../../live/ConnectionSign";
import type { CoreUse, Snapshot } from "../../live/messages";
import { headerRates, lagSeconds, latencyNow } from "../../live/recent";
import type { Live } from "../../live/useFeed";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { lightOfAll } from "../../ui/correctness";
import { Fact } from "../../ui/Fact";
import { StatusBadge } from "../../ui/StatusBadge";
import { StartPhase } from "./StartPhase";

interface Props {
  readonly live: Live;
  readonly topology: TopologyDocument | null;
  readonly actions: ComponentChildren;
}

/** What runs, whether the page hears of it, what can be done, and the numbers of now. */
export function HeaderNumbers({ live, topology, actions }: Props): JSX.Element {
  return (
    <div class="topology-head">
      <div class="toolbar">
        <StatusBadge
          state={shownState(live.snapshot, topology)}
          title={givenUpText(live.snapshot?.given_up ?? null)}
        />
        {live.snapshot !== null && <StartPhase snapshot={live.snapshot} />}
        <span class="muted">
          {live.snapshot === null || live.snapshot.epoch === null ? "" : `epoch ${live.snapshot.epoch} · `}
          {topology === null ? "" : sizeText(topology)}
        </span>
        <ConnectionSign live={live} />
        {topology !== null && topology.queries.length > 0 && (
          <CorrectnessLight light={lightOfAll(topology.queries)} />
        )}
        <span class="grow" />
        {actions}
      </div>
      <Numbers snapshot={live.snapshot} topology={topology} />
    </div>
  );
}

interface NumbersProps {
  readonly snapshot: Snapshot | null;
  readonly topology: TopologyDocument | null;
}

/** Rates, latency, state and lag as a snapshot has them, of now or of then. */
export function Numbers({ snapshot, topology }: NumbersProps): JSX.Element {
  // Before a run's first batch the history is another run's: nothing is known yet.
  const history = snapshot === null || snapshot.batch === null ? [] : snapshot.history;
  const last = history.at(-1);
  const { tuplesIn, results } = headerRates(history, snapshot?.heartbeat_at ?? null);
  const lag = lagSeconds(last?.backlog, tuplesIn);
  const coreUse = snapshot?.statistics?.total_cores ?? null;
  const latency = latencyNow(last, snapshot?.heartbeat_at ?? null);
  // Another run's limit says nothing about what is in memory now.
  const limit = topology?.run?.id === snapshot?.run ? (topology?.run?.memory_limit_bytes ?? null) : null;
  return (
    <dl class="numbers">
      <Fact
        label="in"
        value={rate(tuplesIn)}
        title="Tuples per second of wall time, over the newest batches"
      />
      <Fact
        label="out"
        value={rate(results)}
        title="Results per second of wall time, over the newest batches"
      />
      <Fact
        label="p50"
        value={milliseconds(latency?.latency_ms_p50)}
        title="Median time from a tuple's arrival to the commit of its results, of the last minute's results"
      />
      <Fact label="p99" value={milliseconds(latency?.latency_ms_p99)} title="99th percentile of the same" />
      <Fact
        label="state"
        value={bytes(last?.state_bytes)}
        title={`${count(last?.state_tuples)} tuples in all stores`}
      />
      <Fact
        label="cores"
        value={<span class={coreUse?.reason ? "far-off" : ""}>{coresText(coreUse?.measured)}</span>}
        title={coresTitle(coreUse, snapshot?.statistics?.process_cores ?? null)}
      />
      {limit !== null && (
        <Fact
          label="in memory"
          value={`${bytes(snapshot?.batch?.resident_bytes)} of ${bytes(limit)}`}
          title="Peak memory of the state in the newest batch, and the limit that the job was started with"
        />
      )}
      <Fact label="lag" value={lagText(lag)} title={`${count(last?.backlog)} tuples wait at the sources`} />
      <Fact
        label="batch"
        value={last === undefined ? count(null) : String(last.batch)}
        title={last === undefined ? "no batch yet" : `took ${milliseconds(last.seconds * 1000)}`}
      />
    </dl>
  );
}

/** `0.4 estimated, 2.1 with Spark's own processes`. */
export function coresTitle(use: CoreUse | null, processes: number | null): string {
  if (use === null) return "Processor seconds per second, known after a run's second epoch";
  const said = [
    `Processor seconds per second of tasks and driver, over the newest epoch; ${coresText(use.estimated)} estimated`,
    ...(use.reason === "" ? [] : [use.reason]),
    ...(processes === null ? [] : [`${coresText(processes)} with Spark's own processes`]),
  ];
  return said.join("; ");
}

function lagText(seconds: number | null): string {
  if (seconds === null) return count(null);
  return seconds === 0 ? "0 s" : span(seconds * 1000);
}

function sizeText({ queries, other_queries, streams }: TopologyDocument): string {
  const others = other_queries === 0 ? "" : ` · ${plural(other_queries, "query", "queries")} of other teams`;
  return `${plural(queries.length, "query", "queries")}${others} · ${plural(streams.length, "stream", "streams")}`;
}

function givenUpText(givenUp: Snapshot["given_up"] | null): string | null {
  return givenUp === null ? null : `Batch ${givenUp.batch} exceeded its limit. Waiting for a new plan.`;
}

/** A job that waits for another plan reports itself idle, and is not. */
function shownState(snapshot: Live["snapshot"], topology: TopologyDocument | null): string {
  if (snapshot === null) return topology?.state ?? "unknown";
  const working = snapshot.state === "idle" || snapshot.state === "running";
  return working && snapshot.given_up !== null ? "waiting for a plan" : snapshot.state;
}
