/** What the checks of running queries came to, in words. */
import type { Check, Correctness } from "../api/documents";
import { ago, clock, plural, whole } from "../format/quantities";

export type LightState = "equal" | "differed" | "differs" | "unknown";

export interface LightText {
  readonly state: LightState;
  readonly text: string;
  /** What was compared, or why nothing was. */
  readonly detail: string;
}

/** Which results a check looked at. */
export function checkedSpan(check: Pick<Check, "first_batch" | "last_batch">): string {
  if (check.first_batch === null || check.last_batch === null) return "no batch";
  return check.first_batch === check.last_batch
    ? `batch ${check.last_batch}`
    : `batches ${check.first_batch} to ${check.last_batch}`;
}

/** `2 missing, 1 extra`, or how many are equal. */
export function verdictText(
  check: Pick<Check, "verdict" | "results" | "compared" | "share" | "missing" | "extra">,
): string {
  switch (check.verdict) {
    case "equal":
      return check.share < 1
        ? `${plural(check.compared, "result")} equal, of ${oneIn(check.share)} by key`
        : `${plural(check.results, "result")} equal`;
    case "differs":
      return `${whole(check.missing)} missing, ${whole(check.extra)} extra`;
    case "unchecked":
      return "could not be checked";
  }
}

/** `1 in 8` for an eighth. */
function oneIn(share: number): string {
  return `1 in ${whole(Math.round(1 / share))}`;
}

/**
 * The light of one query.
 * @param now milliseconds since 1970; null tells the time of the check instead of how long ago it was
 */
export function lightOf(correctness: Correctness | null, now: number | null): LightText {
  const when = (at: string): string => (now === null ? `${clock(at)} UTC` : ago(at, now));
  if (correctness === null) {
    return {
      state: "unknown",
      text: "not checked yet",
      detail: "New results are compared with a batch join about once a minute.",
    };
  }
  const { newest, differed_at } = correctness;
  if (newest.verdict === "unchecked") {
    return {
      state: differed_at === null ? "unknown" : "differed",
      text: `could not be checked ${when(newest.at)}`,
      detail: newest.reason ?? "",
    };
  }
  const sample = newest.share < 1 ? `, a sample of ${oneIn(newest.share)} results by key` : "";
  const leftOut = newest.reason === null ? "" : `; ${newest.reason}`;
  const over = `DuckDB over ${plural(newest.tuples, "tuple")}, ${checkedSpan(newest)}${sample}${leftOut}`;
  const text = `checked ${when(newest.at)}: ${verdictText(newest)}`;
  if (newest.verdict === "differs") return { state: "differs", text, detail: over };
  if (differed_at !== null)
    return { state: "differed", text, detail: `${over}; it differed ${when(differed_at)}` };
  return { state: "equal", text, detail: over };
}

/** One light for all queries of a topology: the worst of them. */
export function lightOfAll(queries: readonly { readonly correctness: Correctness | null }[]): LightText {
  const checks = queries.map((query) => query.correctness);
  const differing = checks.filter((one) => one?.newest.verdict === "differs").length;
  const of = `of ${queries.length} ${queries.length === 1 ? "query" : "queries"}`;
  if (differing > 0)
    return {
      state: "differs",
      text: `${differing} ${of} ${differing === 1 ? "differs" : "differ"}`,
      detail: "from a batch join of the same tuples",
    };
  const equal = checks.filter((one): one is Correctness => one?.newest.verdict === "equal");
  if (equal.length === 0) return { state: "unknown", text: "not checked yet", detail: "" };
  const oldest = equal.map((one) => one.newest.at).sort()[0];
  const results = equal.reduce((sum, one) => sum + one.newest.results, 0);
  const state = checks.some((one) => one !== null && one.differed_at !== null) ? "differed" : "equal";
  return {
    state,
    text: `correct as of ${clock(oldest)} UTC`,
    detail: `${equal.length} ${of}: ${plural(results, "result")} equal to a batch join of the same tuples`,
  };
}
