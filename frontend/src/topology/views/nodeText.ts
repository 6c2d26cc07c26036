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
    if (batch === null && statistics !== null) {
      return {
        detail: `${count(inEpoch)} in epoch`,
        title: `Source ${node.label}: ${count(inEpoch)} tuples accepted in epoch ${statistics.epoch}; feeds ${node.queries.join(", ")}`,
      };
    }
    const accepted = batch?.streams[node.stream ?? ""]?.accepted;
    return {
      detail: `${count(accepted)} in batch`,
      title: `Source ${node.label}: ${count(accepted)} tuples accepted in the newest batch; feeds ${node.queries.join(", ")}`,
    };
  }
  const edge = node.edge?.id ?? "";
  const { now, eventTime } = rates(edge);
  const action = node.kind === "probe" ? "Probe of" : "Feed of";
  return {
    detail: `${rate(eventTime)} · est ${rate(estimate(edge))}`,
    title: `${action} ${node.label}: ${rate(now)} now, ${rate(eventTime)} of event time, estimated ${rate(estimate(edge))}; for ${node.queries.join(", ")}`,
  };
}
