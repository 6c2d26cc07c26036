import { expect, it } from "vitest";
import type { Check, Correctness } from "../api/documents";
import { checkedSpan, lightOf, lightOfAll } from "./correctness";

const NOW = Date.parse("2026-11-21T12:00:40Z");
const CHECK: Check = {
  at: "2026-11-21T12:00:00Z",
  topology: "flights",
  version: 1,
  plan_id: "flights.1",
  verdict: "equal",
  reason: null,
  first_batch: 4,
  last_batch: 9,
  event_from: null,
  event_to: null,
  tuples: 3400,
  results: 1240,
  expected: 1240,
  compared: 1240,
  missing: 0,
  extra: 0,
  missing_rows: [],
  extra_rows: [],
  share: 1,
  seconds: 0.1,
};
const light = (change: Partial<Check>, differed_at: string | null = null): Correctness => ({
  newest: { ...CHECK, ...change },
  differed_at,
});

it("says what was compared and when", () => {
  expect(lightOf(light({}), NOW)).toEqual({
    state: "equal",
    text: "checked 40 s ago: 1,240 results equal",
    detail: "DuckDB over 3,400 tuples, batches 4 to 9",
  });
  expect(lightOf(light({ results: 1, last_batch: 4 }), NOW)).toMatchObject({
    text: "checked 40 s ago: 1 result equal",
    detail: "DuckDB over 3,400 tuples, batch 4",
  });
  expect(checkedSpan({ first_batch: null, last_batch: null })).toBe("no batch");
});

it("a sample says how large it is", () => {
  expect(lightOf(light({ share: 1 / 8, compared: 150 }), NOW)).toMatchObject({
    text: "checked 40 s ago: 150 results equal, of 1 in 8 by key",
    detail: "DuckDB over 3,400 tuples, batches 4 to 9, a sample of 1 in 8 results by key",
  });
});

it("says what an equal one left out", () => {
  expect(lightOf(light({ reason: "1 session began earlier" }), NOW)).toMatchObject({
    state: "equal",
    detail: "DuckDB over 3,400 tuples, batches 4 to 9; 1 session began earlier",
  });
});

it("what is not known is neither right nor wrong", () => {
  expect(lightOf(null, NOW).state).toBe("unknown");
  expect(lightOf(light({ verdict: "unchecked", reason: "gone" }), NOW)).toEqual({
    state: "unknown",
    text: "could not be checked 40 s ago",
    detail: "gone",
  });
});

it("a difference is red, and remembered when the next check is equal", () => {
  const wrong = light({ verdict: "differs", missing: 2, extra: 1 }, CHECK.at);
  expect(lightOf(wrong, NOW)).toMatchObject({
    state: "differs",
    text: "checked 40 s ago: 2 missing, 1 extra",
  });
  expect(lightOf(light({}, "2026-11-21T11:58:40Z"), NOW)).toMatchObject({
    state: "differed",
    detail: "DuckDB over 3,400 tuples, batches 4 to 9; it differed 2 min ago",
  });
});

it("a topology is as right as the worst of its queries, and as old as the oldest check", () => {
  const of = (...all: (Correctness | null)[]) => lightOfAll(all.map((correctness) => ({ correctness })));
  expect(of(null, null)).toMatchObject({ state: "unknown", text: "not checked yet" });
  expect(of(light({}), null, light({ at: "2026-11-21T12:00:30Z", results: 10 }))).toEqual({
    state: "equal",
    text: "correct as of 12:00:00 UTC",
    detail: "2 of 3 queries: 1,250 results equal to a batch join of the same tuples",
  });
  expect(of(light({}), light({ verdict: "differs" }))).toMatchObject({
    state: "differs",
    text: "1 of 2 queries differs",
  });
});
