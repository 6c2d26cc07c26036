import type { JSX } from "preact";
import type { Alternative, PlanDocument } from "../../api/documents";
import { count, instant, milliseconds, percent, signed } from "../../format/quantities";
import { forestOf, nodesOf } from "../../plan/forest";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { ProblemLine } from "../../ui/ProblemLine";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { TableHead } from "../../ui/table/TableHead";

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
  const saved = plan.individual_cost > 0 ? 1 - total / plan.individual_cost : null;
  return (
    <div class="receipt">
      <dl class="numbers compact">
        <div>
          <dt>method</dt>
          <dd>{plan.method}</dd>
        </div>
        <div title={proof}>
          <dt>result</dt>
          <dd>{plan.status}</dd>
        </div>
        <div title="in millionths of a core, or in probe tuples per second where plans are chosen by messages">
          <dt>cost</dt>
          <dd>{count(total)}</dd>
        </div>
        <div>
          <dt>probe · storage · latency</dt>
          <dd>{`${count(plan.cost.probe)} · ${count(plan.cost.storage)} · ${count(plan.cost.latency)}`}</dd>
        </div>
        <div title={proof}>
          <dt>bound</dt>
          <dd>{count(plan.bound)}</dd>
        </div>
        <div title={proof}>
          <dt>gap</dt>
          <dd>{percent(plan.gap)}</dd>
        </div>
        <div title="the sum over the queries, each planned alone with the same options">
          <dt>each alone</dt>
          <dd>{count(plan.individual_cost)}</dd>
        </div>
        <div title="against each query alone">
          <dt>saved by sharing</dt>
          <dd>{percent(saved)}</dd>
        </div>
        <div>
          <dt>build · solve</dt>
          <dd>{`${milliseconds(plan.seconds.build * 1000)} · ${milliseconds(plan.seconds.solve * 1000)}`}</dd>
        </div>
        <div>
          <dt>planned</dt>
          <dd>{instant(plan.created_at)}</dd>
        </div>
      </dl>
      <p class="muted">{proof}</p>
      <ProblemLine text={problem} />
      {alternatives === null && problem === null && (
        <p class="muted">Loading what other methods would cost…</p>
      )}
      {alternatives !== null && (
        <ScrollArea label="Other methods">
          <table class="list">
            <TableHead
              columns={[
                "Method",
                { label: "Cost", class: "number" },
                { label: "Against this plan", class: "number" },
                { label: "Stores", class: "number" },
                { label: "Probe steps", class: "number" },
                { label: "Levels", class: "number" },
                { label: "Planned in", class: "number" },
                "Trees",
              ]}
            />
            <tbody>
              <tr>
                <th scope="row">
                  {plan.method} <span class="muted">this plan</span>
                </th>
                <td class="number">{count(total)}</td>
                <td class="number">–</td>
                <td class="number">{count(graph.stores.length)}</td>
                <td class="number">{count(steps)}</td>
                <td class="number">{count(depth)}</td>
                <td class="number">{milliseconds((plan.seconds.build + plan.seconds.solve) * 1000)}</td>
                <td>
                  <button
                    type="button"
                    class="button small"
                    aria-pressed={shown === null}
                    onClick={() => onShow(null)}
                  >
                    Draw
                  </button>
                </td>
              </tr>
              {alternatives.map((other) => (
                <tr key={other.method}>
                  <th scope="row">
                    {other.method} <span class="muted">{MEANING[other.method] ?? ""}</span>
                  </th>
                  <td class="number">{count(other.cost.total)}</td>
                  <td class="number">{signed(difference(other.cost.total, total), percent)}</td>
                  <td class="number">{count(other.stores)}</td>
                  <td class="number">{count(other.steps)}</td>
                  <td class="number">{count(other.depth)}</td>
                  <td class="number">{milliseconds(other.seconds * 1000)}</td>
                  <td>
                    <button
                      type="button"
                      class="button small"
                      aria-pressed={shown === other.method}
                      onClick={() => onShow(other.method)}
                    >
                      Draw
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="muted small">
            Other methods are priced with the measurements that this plan was made from.
          </p>
        </ScrollArea>
      )}
    </div>
  );
}
