import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Explanation, Marginal, Outlook } from "../../api/documents";
import { ChartHost } from "../../charts/ChartHost";
import { createJoinGraph } from "../../charts/graphs/joinGraph";
import type { StreamColour } from "../../colour/streams";
import { count, percent, rate, signed } from "../../format/quantities";
import { conditionsOf, type ForestNode, forestOf, probeOrders } from "../../plan/forest";
import { joinGraphOf, layoutJoinGraph } from "../../plan/layout/joinGraph";
import { type PhysicalGraph, parseGraph } from "../../plan/physicalGraph";
import { Fact } from "../../ui/Fact";
import { ScrollText } from "../../ui/table/ScrollText";
import { OutlookFacts } from "./OutlookFacts";

interface Props {
  readonly explanation: Explanation | null;
  readonly outlook: Outlook | null;
  /** Why there is no explanation of the newest text. */
  readonly reason: string | null;
  readonly stale: boolean;
  readonly colour: StreamColour;
}

const WIDTH = 360;

/** Right pane: what the optimizer would do with the query as it stands. */
export function PlanPane({ explanation, outlook, reason, stale, colour }: Props): JSX.Element {
  const graph = useMemo(() => (explanation === null ? null : parseGraph(explanation.graph)), [explanation]);
  return (
    <aside class={`pane plan ${stale ? "stale" : ""}`} aria-label="Live plan">
      <h2>
        Live plan{" "}
        {explanation !== null && (
          <span class="muted">
            {explanation.method}, {explanation.status}
            {explanation.gap === null ? "" : `, gap ${percent(explanation.gap)}`}
          </span>
        )}
      </h2>
      {reason !== null && <p class="muted">{reason}</p>}
      {reason === null && explanation === null && (
        <p class="muted" role="status">
          Working out a plan…
        </p>
      )}
      {explanation !== null && graph !== null && (
        <>
          <JoinGraphOf graph={graph} colour={colour} />
          {explanation.marginal !== null && <MarginalCost marginal={explanation.marginal} />}
          {outlook !== null && <OutlookFacts outlook={outlook} />}
          <Costs explanation={explanation} />
          <ProbeOrders graph={graph} colour={colour} />
          <details>
            <summary>Explanation as text</summary>
            <ScrollText text={explanation.text} />
          </details>
        </>
      )}
    </aside>
  );
}

function JoinGraphOf({ graph, colour }: { graph: PhysicalGraph; colour: StreamColour }): JSX.Element | null {
  const data = useMemo(() => {
    // What a query reads of others is answered by the plan, too.
    const inner = new Set(graph.streams.flatMap((one) => (one.derived === null ? [] : [one.name])));
    const query = graph.queries.find((one) => !inner.has(one.name));
    const join = query === undefined ? null : joinGraphOf(graph, query.name);
    if (join === null) return null;
    return {
      placed: layoutJoinGraph(join, WIDTH, join.nodes.length > 3 ? 250 : join.nodes.length > 2 ? 190 : 110),
      colour,
    };
  }, [graph, colour]);
  return data === null ? null : (
    <ChartHost create={createJoinGraph} data={data} class="join-graph-host" label="Join graph" />
  );
}

function Costs({ explanation }: { explanation: Explanation }): JSX.Element {
  const { cost } = explanation;
  return (
    <dl class="numbers compact">
      {(["probe", "storage", "latency", "total"] as const).map((part) => (
        <Fact label={part} value={count(cost[part])} key={part} />
      ))}
    </dl>
  );
}

/** What the running topology would pay for the query. */
function MarginalCost({ marginal }: { marginal: Marginal }): JSX.Element {
  return (
    <p class="marginal">
      In <a href={`/topologies/${encodeURIComponent(marginal.topology)}/`}>{marginal.topology}</a>:{" "}
      <strong>
        {signed(marginal.stores_new, count)} {marginal.stores_new === 1 ? "store" : "stores"}
      </strong>
      ,{" "}
      <strong>
        {signed(marginal.probe_percent === null ? null : marginal.probe_percent / 100, percent)} probes
      </strong>
      , {marginal.reuse}
    </p>
  );
}

function ProbeOrders({ graph, colour }: { graph: PhysicalGraph; colour: StreamColour }): JSX.Element {
  const orders = useMemo(() => probeOrders(forestOf(graph)), [graph]);
  const costs = useMemo(
    () => new Map(graph.estimates.map((estimate) => [estimate.id, estimate.cost])),
    [graph],
  );
  const costOf = (step: ForestNode): number | null =>
    step.edge === null ? null : (costs.get(step.edge.id) ?? null);
  if (orders.length === 0) return <p class="muted">One stream: there is nothing to join.</p>;
  return (
    <table class="list orders">
      <caption>Probe orders, one per starting stream</caption>
      <tbody>
        {orders.map(({ start, steps }) => {
          const known = steps.map(costOf).filter((cost) => cost !== null);
          return (
            <tr key={[start.key, ...steps.map((step) => step.key)].join(" ")}>
              <td>
                <span class="dot" style={{ background: colour(start.stream ?? "") }} aria-hidden="true" />
                {start.label}
                {steps.map((step) => (
                  <span
                    key={step.key}
                    title={step.rule?.kind === "probe" ? conditionsOf(step.rule).join("\n") : ""}
                  >
                    {" → "}
                    {step.label} <span class="muted small">{rate(costOf(step))}</span>
                  </span>
                ))}
              </td>
              <td class="number">
                {rate(known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
