import type { HistoryPeriod } from "../../../api/documents";

/** A period in which not much happened. */
export function period(start: string, changes: Partial<HistoryPeriod> = {}): HistoryPeriod {
  return {
    start,
    batches: 2,
    seconds: 1,
    tuples_in: 600,
    results: 60,
    late: 0,
    undecodable: 0,
    backlog: null,
    latency_ms_p50: 20,
    latency_ms_p99: 80,
    state_tuples: 3,
    state_bytes: 24,
    cores: 0.5,
    plan_id: "flights.1",
    switches: 0,
    ...changes,
  };
}
