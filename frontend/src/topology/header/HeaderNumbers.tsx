import type { ComponentChildren, JSX } from "preact";
import type { TopologyDocument } from "../../api/documents";
import { bytes, count, milliseconds, rate, span } from "../../format/quantities";
import { ConnectionSign } from "../../live/ConnectionSign";
import { headerRates, lagSeconds } from "../../live/recent";
import type { Live } from "../../live/useFeed";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { lightOfAll } from "../../ui/correctness";
import { StatusBadge } from "../../ui/StatusBadge";

interface Props {
  readonly live: Live;
  readonly topology: TopologyDocument | null;
  readonly actions: ComponentChildren;
}

/** One line that says whether all is well. */
export function HeaderNumbers({ live, topology, actions }: Props): JSX.Element {
  const { snapshot } = live;
  // Before a run's first batch the history is another run's: nothing is known yet.
  const history = snapshot?.batch === null || snapshot === null ? [] : snapshot.history;
  const last = history.at(-1);
  const { tuplesIn, results } = headerRates(history, snapshot?.heartbeat_at ?? null);
  const lag = lagSeconds(last?.backlog, tuplesIn);
  const latency = [...history].reverse().find((point) => point.latency_ms_p50 !== null);
  // Another run's limit says nothing about what is in memory now.
  const limit = topology?.run?.id === snapshot?.run ? (topology?.run?.memory_limit_bytes ?? null) : null;
  const number = (label: string, value: string, title: string): JSX.Element => (
    <div title={title}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
  return (
    <div class="topology-head">
      <div class="toolbar">
        <StatusBadge
          state={shownState(snapshot, topology)}
          title={
            snapshot === null || snapshot.given_up === null
              ? null
              : `batch ${snapshot.given_up.batch} makes more than one may; nothing is committed until another plan is there`
          }
        />
        <span class="muted">
          {snapshot?.epoch === null || snapshot === null ? "" : `epoch ${snapshot.epoch} · `}
          {topology === null
            ? ""
            : `${topology.queries.length} ${topology.queries.length === 1 ? "query" : "queries"} · ${topology.streams.length} ${topology.streams.length === 1 ? "stream" : "streams"}`}
        </span>
        <ConnectionSign live={live} />
        {topology !== null && topology.queries.length > 0 && (
          <CorrectnessLight light={lightOfAll(topology.queries)} />
        )}
        <span class="grow" />
        {actions}
      </div>
      <dl class="numbers">
        {number("in", rate(tuplesIn), "Tuples per second of wall time, over the newest batches")}
        {number("out", rate(results), "Results per second of wall time, over the newest batches")}
        {number(
          "p50",
          milliseconds(latency?.latency_ms_p50),
          "Median time from a tuple's arrival to the commit of its results",
        )}
        {number("p99", milliseconds(latency?.latency_ms_p99), "99th percentile of the same")}
        {number("state", bytes(last?.state_bytes), `${count(last?.state_tuples)} tuples in all stores`)}
        {limit !== null &&
          number(
            "in memory",
            `${bytes(snapshot?.batch?.resident_bytes)} of ${bytes(limit)}`,
            "The most of the state that was in memory at one moment of the newest batch, and the limit that the job was started with",
          )}
        {number(
          "lag",
          lag === null ? count(null) : lag === 0 ? "0 s" : span(lag * 1000),
          `${count(last?.backlog)} tuples wait at the sources`,
        )}
        {number(
          "batch",
          last === undefined ? count(null) : String(last.batch),
          last === undefined ? "no batch yet" : `took ${milliseconds(last.seconds * 1000)}`,
        )}
      </dl>
    </div>
  );
}

/** A job that waits for another plan reports itself idle, and is not. */
function shownState(snapshot: Live["snapshot"], topology: TopologyDocument | null): string {
  if (snapshot === null) return topology?.state ?? "unknown";
  const working = snapshot.state === "idle" || snapshot.state === "running";
  return working && snapshot.given_up !== null ? "waiting for a plan" : snapshot.state;
}
