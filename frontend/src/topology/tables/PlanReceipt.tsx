import type { JSX } from "preact";
import type { Alternative, PlanDocument } from "../../api/documents";
import { count, instant, milliseconds, percent, signed } from "../../format/quantities";
import { forestOf, nodesOf } from "../../plan/forest";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { savedBySharing } from "../../plan/sharing";
import { Button } from "../../ui/Button";
import { Fact } from "../../ui/Fact";
import { ProblemLine } from "../../ui/ProblemLine";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";

interface Props {
  readonly plan: PlanDocument;
  readonly graph: PhysicalGraph;
  /** Null until they are known. */
  readonly alternatives: readonly Alternative[] | null;
  readonly problem: string | null;
  /** Which alternative's trees are drawn; null is the plan itself. */
  readonly shown: string | null;
  readonly onShow: (method: string | null) => void;
}

const MEANING: Readonly<Record<string, string>> = {
  greedy: "one step at a time, never revised",
  individual: "each query alone, nothing shared",
};

function difference(cost: number, total: number): number | null {
  return total > 0 ? cost / total - 1 : null;
}

/** One line of the comparison: the plan itself, or what another method finds. */
interface Way extends Omit<Alternative, "method" | "cost" | "graph"> {
  /** Null for the plan itself. */
  readonly method: string | null;
  readonly cost: number;
}

/** How good the plan is, how that is known, and what other ways would cost. */
export function PlanReceipt({ plan, graph, alternatives, problem, shown, onShow }: Props): JSX.Element {
  const { total } = plan.cost;
  const steps = nodesOf(forestOf(graph)).filter((node) => node.kind === "probe").length;
  const depth = Math.max(0, ...graph.edges.map((edge) => edge.level));
  const proof =
    plan.bound === null
      ? "no bound: this method proves no optimum"
      : plan.gap === 0
        ? "proven optimal"
        : `no plan costs less than ${count(plan.bound)}`;
  const saved = savedBySharing(total, plan.individual_cost);
  const { build, solve } = plan.seconds;
  const own = { cost: total, stores: graph.stores.length, steps, depth, seconds: build + solve };
  const ways: readonly Way[] = [
    { ...own, method: null },
    ...(alternatives ?? []).map((other) => ({ ...other, cost: other.cost.total })),
  ];
  const columns: readonly Column<Way>[] = [
    {
      label: "Method",
      names: true,
      cell: ({ method }) => (
        <>
          {method ?? plan.method}{" "}
          <span class="muted">{method === null ? "this plan" : (MEANING[method] ?? "")}</span>
        </>
      ),
    },
    { label: "Cost", kind: "number", cell: ({ cost }) => count(cost) },
    {
      label: "Against this plan",
      kind: "number",
      cell: ({ method, cost }) => (method === null ? "–" : signed(difference(cost, total), percent)),
    },
    { label: "Stores", kind: "number", cell: ({ stores }) => count(stores) },
    { label: "Probe steps", kind: "number", cell: (way) => count(way.steps) },
    { label: "Levels", kind: "number", cell: (way) => count(way.depth) },
    { label: "Planned in", kind: "number", cell: ({ seconds }) => milliseconds(seconds * 1000) },
    {
      label: "Trees",
      cell: ({ method }) => (
        <Button small aria-pressed={shown === method} onClick={() => onShow(method)}>
          Draw
        </Button>
      ),
    },
  ];
  return (
    <div class="receipt">
      <dl class="numbers compact">
        <Fact label="method" value={plan.method} />
        <Fact label="result" value={plan.status} title={proof} />
        <Fact
          label="cost"
          value={count(total)}
          title="in millionths of a core, or in probe tuples per second where plans are chosen by messages"
        />
        <Fact
          label="probe · storage · latency"
          value={`${count(plan.cost.probe)} · ${count(plan.cost.storage)} · ${count(plan.cost.latency)}`}
        />
        <Fact label="bound" value={count(plan.bound)} title={proof} />
        <Fact label="gap" value={percent(plan.gap)} title={proof} />
        <Fact
          label="each alone"
          value={count(plan.individual_cost)}
          title="the sum over the queries, each planned alone with the same options"
        />
        <Fact label="saved by sharing" value={percent(saved)} title="against each query alone" />
        <Fact
          label="build · solve"
          value={`${milliseconds(plan.seconds.build * 1000)} · ${milliseconds(plan.seconds.solve * 1000)}`}
        />
        <Fact label="planned" value={instant(plan.created_at)} />
      </dl>
      <p class="muted">{proof}</p>
      <ProblemLine text={problem} />
      {alternatives === null && problem === null && (
        <p class="muted">Loading what other methods would cost…</p>
      )}
      {alternatives !== null && (
        <ScrollArea label="Other methods">
          <Table class="" columns={columns} rows={ways} rowKey={({ method }) => method ?? ""} />
          <p class="muted small">
            Other methods are priced with the measurements that this plan was made from.
          </p>
        </ScrollArea>
      )}
    </div>
  );
}
