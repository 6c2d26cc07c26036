/** Lines of a stream's plots, from what batches told. */
import type { ArrivalPoint } from "../api/documents";
import type { Series } from "../charts/series/seriesPlot";

const WARN = "var(--warn)";
const BAD = "var(--bad)";

/**
 * Per second of wall clock between two commits; unknown for the first batch, whose predecessor is not there.
 */
export function rateSeries(points: readonly ArrivalPoint[], colour: string): Series[] {
  const perSecond = (of: (point: ArrivalPoint) => number): (number | null)[] =>
    points.map((point) => (point.seconds === null ? null : of(point) / point.seconds));
  return [
    { name: "accepted", colour, dash: "", values: perSecond((point) => point.accepted) },
    { name: "late", colour: WARN, dash: "5 3", values: perSecond((point) => point.late) },
    { name: "undecodable", colour: BAD, dash: "1.5 3", values: perSecond((point) => point.undecodable) },
  ];
}

/** How far the stream is behind the newest of all, and how much older than its newest a tuple may be. */
export function latenessSeries(points: readonly ArrivalPoint[], colour: string): Series[] {
  const allowed = (point: ArrivalPoint): number | null =>
    point.newest === null || point.watermark === null
      ? null
      : Math.max(0, Date.parse(point.newest) - Date.parse(point.watermark));
  return [
    { name: "behind the newest stream", colour, dash: "", values: points.map((point) => point.behind_ms) },
    { name: "watermark behind its newest tuple", colour: WARN, dash: "5 3", values: points.map(allowed) },
  ];
}
