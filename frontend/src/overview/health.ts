/** What is wrong with all that runs, and what of it nobody knows. Pure. */
import type { OverviewDocument, TopologyDocument, WatchedTopology } from "../api/documents";
import { clock, instant, plural } from "../format/quantities";
import { lightOf, verdictText } from "../ui/correctness";
import { isWorking, lastMinute } from "./figures";

/** A job says something every two seconds; after this long it is not heard any more. */
const SILENT_MS = 15_000;

/** One thing, in a line, and where more is told of it. */
export interface Finding {
  readonly text: string;
  readonly href: string;
}

export interface Health {
  readonly wrong: readonly Finding[];
  /** What could not be checked: without these, no finding means that nothing is wrong. */
  readonly unknown: readonly Finding[];
}

export function healthOf(overview: OverviewDocument): Health {
  const each = overview.topologies.map((watched) => healthOfTopology(watched, overview.at));
  const letters = overview.dead_letters.map(
    ({ topology, stream, kept, newest }): Finding => ({
      text:
        `${topology} turned ${plural(kept, "tuple")} of ${stream} away, ` +
        `the newest at ${instant(newest)} UTC: see its dead letters`,
      href: `/streams/${encodeURIComponent(stream)}/`,
    }),
  );
  return {
    wrong: [...each.flatMap(({ wrong }) => wrong), ...letters],
    unknown: each.flatMap(({ unknown }) => unknown),
  };
}

function healthOfTopology(watched: WatchedTopology, now: string): Health {
  const { topology } = watched;
  const queries = healthOfQueries(topology);
  const work = isWorking(watched) ? healthOfWork(watched, now) : { wrong: [], unknown: [] };
  return {
    wrong: [...stateOf(topology), ...batchesOf(watched), ...work.wrong, ...queries.wrong],
    unknown: [
      ...(topology.state === "starting" ? [{ text: `${topology.name} is starting`, href: "/jobs/" }] : []),
      ...work.unknown,
      ...queries.unknown,
    ],
  };
}

function pageOf({ name }: TopologyDocument, tab: string | null = null): string {
  return `/topologies/${encodeURIComponent(name)}/${tab === null ? "" : `?tab=${tab}`}`;
}

/** What the supervisor says. */
function stateOf(topology: TopologyDocument): Finding[] {
  const { name, state, error, deployment, waiting } = topology;
  const found: Finding[] = [];
  if (state === "failed")
    found.push({
      text: `${name} failed: ${error ?? "for no known reason"}`,
      href: pageOf(topology, topology.run === null ? null : "Log"),
    });
  if (state === "stopped" && topology.queries.length > 0)
    found.push({
      text: `${name} is stopped: nothing answers its ${plural(topology.queries.length, "query", "queries")}`,
      href: "/jobs/",
    });
  if (deployment.error !== null && state !== "failed")
    found.push({
      text: `The last change of ${name} has no plan: ${deployment.error}`,
      href: pageOf(topology),
    });
  if (waiting !== null) found.push({ text: `${name} waits: ${waiting}`, href: "/jobs/" });
  return found;
}

function batchesOf({ topology, failed_batch, waiting_batch, given_up }: WatchedTopology): Finding[] {
  const found: Finding[] = [];
  if (failed_batch !== null)
    found.push({
      text: `Batch ${failed_batch.batch} of ${topology.name} failed repeatedly: ${failed_batch.error}`,
      href: pageOf(topology, "Log"),
    });
  if (waiting_batch !== null)
    found.push({
      text: `Batch ${waiting_batch.batch} of ${topology.name} waits: ${waiting_batch.reason}`,
      href: pageOf(topology, "Log"),
    });
  if (given_up !== null)
    found.push({
      text: `Batch ${given_up.batch} of ${topology.name} exceeded its limit and waits for another plan`,
      href: pageOf(topology),
    });
  return found;
}

/** Whether a job that works is heard, and reads what waits. */
function healthOfWork({ topology, history, heartbeat_at }: WatchedTopology, now: string): Health {
  const [wrong, unknown]: [Finding[], Finding[]] = [[], []];
  if (heartbeat_at === null) unknown.push({ text: `${topology.name} was not heard yet`, href: "/jobs/" });
  else if (Date.parse(now) - Date.parse(heartbeat_at) > SILENT_MS)
    wrong.push({ text: `${topology.name} was not heard since ${clock(heartbeat_at)} UTC`, href: "/jobs/" });
  const last = history.at(-1);
  if (last === undefined)
    unknown.push({ text: `${topology.name} has committed no batch yet`, href: pageOf(topology, "Batches") });
  else if (last.backlog === null)
    unknown.push({
      text: `How far ${topology.name} is behind is not known: its sources do not say what waits`,
      href: pageOf(topology, "Streams"),
    });
  else if (last.backlog > 0 && lastMinute(history, now).every((point) => point.tuples_in === 0))
    wrong.push({
      text: `${plural(last.backlog, "tuple")} wait for ${topology.name}, which has read none for a minute`,
      href: pageOf(topology, "Batches"),
    });
  return { wrong, unknown };
}

/** Whether all queries are answered, and rightly. */
function healthOfQueries(topology: TopologyDocument): Health {
  const wrong: Finding[] = [];
  let unchecked = 0;
  for (const { id, name, suspended, correctness } of topology.queries) {
    const href = `/queries/${id}/`;
    if (suspended !== null) {
      wrong.push({ text: `${name} is suspended: ${suspended}`, href });
      continue;
    }
    const { state } = lightOf(correctness, null);
    if (state === "unknown") unchecked += 1;
    else if (state === "differs" && correctness !== null)
      wrong.push({ text: `${name} gives wrong results: ${verdictText(correctness.newest)}`, href });
    else if (state === "differed")
      wrong.push({
        text: `${name} gave wrong results, found at ${clock(correctness?.differed_at)} UTC`,
        href,
      });
  }
  const unknown =
    unchecked === 0
      ? []
      : [
          {
            text:
              `${plural(unchecked, "query", "queries")} of ${topology.name} ${unchecked === 1 ? "is" : "are"} ` +
              "not checked against a batch join",
            href: pageOf(topology, "Queries"),
          },
        ];
  return { wrong, unknown };
}
