import type { NodeText } from "../../charts/graphs/forestData";
import { count, rate } from "../../format/quantities";
import type { BatchCompleted, EpochCompleted } from "../../live/messages";
import type { EdgeRate } from "../../live/recent";
import type { ForestNode } from "../../plan/forest";

/** A node's second line and its title: of the newest batch, or of the epoch that is looked at. */
export function nodeText(
  node: ForestNode,
  rates: (edge: string) => EdgeRate,
  estimate: (id: string) => number | null,
  batch: BatchCompleted | null,
  statistics: EpochCompleted | null,
): NodeText {
  if (node.kind === "query") {
    if (batch === null && statistics !== null)
      return {
        detail: "– results in epoch",
        title: `Query ${node.label}: epochs do not keep the number of results`,
      };
    const results = batch?.queries[node.label]?.results;
    return {
      detail: `${count(results)} results in batch`,
      title: `Query ${node.label}: ${count(results)} results in the newest batch`,
    };
  }
  if (node.kind === "source") {
    const inEpoch = statistics?.accepted[node.stream ?? ""];
    const title = (tuples: string, when: string): string =>
      `Source ${node.label}: ${tuples} tuples accepted in ${when}; feeds ${node.queries.join(", ")}`;
    if (batch === null && statistics !== null) {
      return {
        detail: `${count(inEpoch)} in epoch`,
        title: title(count(inEpoch), `epoch ${statistics.epoch}`),
      };
    }
    const accepted = batch?.streams[node.stream ?? ""]?.accepted;
    return {
      detail: `${count(accepted)} in batch`,
      title: title(count(accepted), "the newest batch"),
    };
  }
  const edge = node.edge?.id ?? "";
  const { now, eventTime } = rates(edge);
  const action = node.kind === "probe" ? "Probe of" : "Feed of";
  const rated = `${rate(now)} now, ${rate(eventTime)} of event time, estimated ${rate(estimate(edge))}`;
  return {
    detail: `${rate(eventTime)} · est ${rate(estimate(edge))}`,
    title: `${action} ${node.label}: ${rated}; for ${node.queries.join(", ")}`,
  };
}
