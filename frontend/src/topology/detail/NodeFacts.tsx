import type { JSX } from "preact";
import type { StreamColour } from "../../colour/streams";
import { count, rate, ratio, windowLength } from "../../format/quantities";
import type { BatchCompleted, EpochCompleted } from "../../live/messages";
import type { EdgeRate } from "../../live/recent";
import { estimatedRates } from "../../plan/estimates";
import { expressionText } from "../../plan/expressionText";
import { conditionsOf, type ForestNode } from "../../plan/forest";
import type { PhysicalGraph, Rule } from "../../plan/physicalGraph";
import { Row } from "./FactRow";
import { StoreFacts } from "./StoreFacts";

const KINDS = {
  shuffle: "to any one task",
  group_by: "to the task of the key's hash",
  all: "to every task",
  slices: "to the tasks whose slices its windows touch",
  grid: "to one row of tasks",
  home: "back to the task that sent what is due",
  group: "to the task of the group",
} as const;

/** What is known of a plan, as far as a step's facts need it. */
export interface Observed {
  readonly graph: PhysicalGraph;
  readonly rates: (edge: string) => EdgeRate;
  readonly batch: BatchCompleted | null;
  /** Of the newest epoch, or of the one that is looked at. */
  readonly statistics: EpochCompleted | null;
  readonly colour: StreamColour;
}

type Props = Observed & { readonly node: ForestNode };

const WHAT = {
  source: "new tuples start here",
  probe: "joined with the stored tuples",
  feed: "kept as an intermediate result",
  query: "results of a query",
} as const;

/** What a step checks and sends, its stores, and the estimate beside what happens. */
export function NodeFacts(props: Props): JSX.Element {
  const { node, graph, batch, statistics, colour } = props;
  const stores = node.store === null ? node.keptIn : [...node.keptIn, node.store];
  return (
    <>
      <h3>
        {node.stream !== null && (
          <span class="dot" style={{ background: colour(node.stream) }} aria-hidden="true" />
        )}{" "}
        {node.label}
      </h3>
      <dl>
        <Row label="what">{WHAT[node.kind]}</Row>
        <RuleFacts rule={node.rule} />
        {node.emit !== null && (
          <Row label="checks last">
            <Conditions
              texts={node.emit.residuals.map((residual) => expressionText(residual))}
              none="nothing more"
            />
          </Row>
        )}
        <RateFacts {...props} />
        {stores.map((store) => (
          <StoreFacts key={store.id} store={store} graph={graph} batch={batch} statistics={statistics} />
        ))}
        <QueryFacts {...props} />
        {node.kind !== "query" && (
          <Row label="serves">{node.queries.length === 0 ? "no query" : node.queries.join(", ")}</Row>
        )}
        <Row label="id">
          <code>{node.key}</code>
        </Row>
      </dl>
    </>
  );
}

function Conditions({ texts, none }: { texts: readonly string[]; none: string }): JSX.Element {
  if (texts.length === 0) return <>{none}</>;
  return (
    <>
      {texts.map((text) => (
        <code key={text} class="line">
          {text}
        </code>
      ))}
    </>
  );
}

function RuleFacts({ rule }: { rule: Rule | null }): JSX.Element | null {
  if (rule?.kind === "source")
    return (
      <Row label="filter">{rule.filter === null ? "none" : <code>{expressionText(rule.filter)}</code>}</Row>
    );
  if (rule?.kind !== "probe") return null;
  const windows = rule.windows.map(
    ({ input, window_us }) => `${input} ${windowLength(window_us === null ? null : window_us / 1000)}`,
  );
  return (
    <>
      <Row label="checks">
        <Conditions texts={conditionsOf(rule)} none="windows only" />
      </Row>
      <Row label="windows">{windows.join(", ")}</Row>
    </>
  );
}

function RateFacts({ node, graph, rates, batch, statistics }: Props): JSX.Element {
  const { edge } = node;
  const estimates = estimatedRates(graph, statistics);
  const estimate = edge === null ? undefined : estimates.get(edge.id);
  const produced = estimates.get(node.key);
  const accepted = node.kind === "source" ? batch?.streams[node.stream ?? ""] : undefined;
  return (
    <>
      {edge !== null && (
        <>
          <Row label="sent">
            {KINDS[edge.kind]}
            {edge.key === null ? "" : `, key ${expressionText(edge.key)}`}; level {edge.level}
          </Row>
          <Row label="estimate">{rate(estimate)} of event time</Row>
          <Row label="actual">
            {rate(rates(edge.id).eventTime)} of event time ({ratio(rates(edge.id).eventTime, estimate)}),{" "}
            {rate(rates(edge.id).now)} now
          </Row>
        </>
      )}
      {produced !== undefined && (
        <Row label="gives">
          {rate(produced)} estimated, {rate(statistics?.rates[node.key]?.actual)} in the epoch
        </Row>
      )}
      {node.kind === "source" && node.stream !== null && (
        <Row label="batch">
          {count(accepted?.accepted)} accepted, {count(accepted?.late)} late, {count(accepted?.undecodable)}{" "}
          undecodable
        </Row>
      )}
    </>
  );
}

function QueryFacts({ node, graph, batch }: Props): JSX.Element | null {
  const query = node.kind === "query" ? graph.queries.find(({ name }) => name === node.label) : undefined;
  if (query === undefined) return null;
  const metrics = batch?.queries[query.name];
  return (
    <>
      {metrics !== undefined && <Row label="batch">{count(metrics.results)} results</Row>}
      <Row label="SQL">
        <code class="sql-text">{query.sql}</code>
      </Row>
    </>
  );
}
