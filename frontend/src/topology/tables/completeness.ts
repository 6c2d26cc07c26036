/** From when on a query's results are all there, in words. */
import { instant, UNKNOWN } from "../../format/quantities";

export interface Completeness {
  readonly text: string;
  /** What that means and what to do; empty if nothing is to be said. */
  readonly advice: string;
}

const NEVER: Completeness = {
  text: "never: older tuples are missing",
  advice:
    "An input has no window, and its store began after the stream's first tuples, so results with those " +
    "are missing permanently. Give every input a window, or restart the topology from what the sources " +
    "still hold: docs/guide/operations.md, Lost checkpoint.",
};

/**
 * `complete_since` of a query's newest metrics is null while its streams have not come that far. A query with
 * an input that never forgets comes that far only if it missed nothing; then the time is known at once.
 */
export function completeness(
  inputs: readonly { readonly window_us: number | null }[],
  metrics: { readonly complete_since: string | null; readonly joining: readonly string[] } | undefined,
): Completeness {
  if (metrics === undefined) return { text: UNKNOWN, advice: "" };
  if (metrics.complete_since !== null) return { text: `${instant(metrics.complete_since)} UTC`, advice: "" };
  if (metrics.joining.length > 0) {
    return {
      text: `reading what ${metrics.joining.join(" and ")} had before`,
      advice:
        "A stream that nothing read so far is read from its beginning. Meanwhile event time goes on, so of the " +
        "other streams its old tuples find what is still stored.",
    };
  }
  if (inputs.some((input) => input.window_us === null)) return NEVER;
  return {
    text: "its window is filling",
    advice:
      "Tuples from before the query came are missing from its stores; " +
      "results are complete once a whole window has passed.",
  };
}
