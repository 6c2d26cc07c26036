import type { JSX } from "preact";
import type { QueryDocument, QueryFigures } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { useMeasuredCosts } from "../../costs/useMeasuredCosts";
import { ago, cores, instant, milliseconds, UNKNOWN } from "../../format/quantities";
import { type Completeness, completeness } from "../../topology/tables/completeness";
import { Fact } from "../../ui/Fact";
import { ProblemLine } from "../../ui/ProblemLine";
import { useLoaded } from "../../ui/useLoaded";
import { useNow } from "../../ui/useNow";

const REFRESH_MS = 3000;

interface Props {
  readonly query: QueryDocument;
  readonly topology: string;
}

/** What a deployed query costs, how late and how complete its results are, and until when they are verified. */
export function QueryNumbers({ query, topology }: Props): JSX.Element {
  const key = `${query.id} ${topology} ${query.deployed_version} ${query.status}`;
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/figures/", at({ id: query.id }))),
    REFRESH_MS,
    key,
  );
  const costs = useMeasuredCosts(topology, key);
  const used = costs.value?.get(query.id);
  const now = useNow();
  const complete = completeOf(query, value);
  return (
    <>
      <dl class="numbers compact" aria-label="What the query does now">
        <Fact
          label="cost"
          value={used === undefined ? UNKNOWN : cores(used * 1e6)}
          title={
            costs.problem ??
            "Processor time as the newest epoch measured it: the query's own parts, and an even part of each that it shares with others. The page Costs has all queries"
          }
        />
        <Fact
          label="p50"
          value={milliseconds(value?.latency_ms_p50)}
          title="Median time from a tuple's arrival to the commit of its results, of the last minute's results"
        />
        <Fact label="p99" value={milliseconds(value?.latency_ms_p99)} title="99th percentile of the same" />
        <Fact
          label="last batch"
          value={value?.at === null || value === null ? UNKNOWN : ago(value.at, now)}
          title={`Wall time since batch ${value?.batch ?? UNKNOWN} was committed`}
        />
        <Fact
          label="answered until (event time)"
          value={instant(value?.answered_until)}
          title="All of its streams have passed this event time by the lateness that they allow: nothing older is awaited"
        />
        <Fact label="complete since" value={complete.text} title={complete.advice} />
        <Fact
          label="verified until (event time)"
          value={instant(value?.verified_until)}
          title="Up to this event time its newest checked results were equal to a batch join of the same tuples"
        />
      </dl>
      <ProblemLine text={problem} />
    </>
  );
}

/** Its first batch is told by the clock; a later time is one of events, which the streams have passed. */
function completeOf(query: QueryDocument, figures: QueryFigures | null): Completeness {
  if (figures === null || figures.at === null) return { text: UNKNOWN, advice: "Not answered yet" };
  const { complete_since: since, answered_until: until } = figures;
  if (since !== null && until !== null && since > until)
    return { text: "its first batch", advice: "It never missed a tuple of its streams." };
  const windows = query.inputs.map(({ window_ms }) => ({ window_us: window_ms }));
  const { text, advice } = completeness(windows, figures);
  return {
    text,
    advice:
      advice === ""
        ? "From this event time on no result is missing for want of tuples from before the query came"
        : advice,
  };
}
