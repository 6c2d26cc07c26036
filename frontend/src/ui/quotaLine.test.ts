// @vitest-environment jsdom
import { expect, test } from "vitest";
import { quotaText } from "./QuotaLine";

test("what has a limit is told, with what there is", () => {
  const quotas = [
    { resource: "topologies", used: 3, limit: 5 },
    { resource: "queries", used: 0, limit: 500 },
    { resource: "tokens", used: 7, limit: null },
  ] as const;
  expect(quotaText([...quotas])).toBe("3 of 5 topologies, 0 of 500 queries");
});

test("nobody whom no quota holds is told of any", () => {
  expect(quotaText([{ resource: "streams", used: 3, limit: null }])).toBe("");
});
