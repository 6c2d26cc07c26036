import { expect, test } from "vitest";
import { changedLimits, typedOf } from "./limits";

const BEFORE = { streams: 3, queries: null, tokens: 0 };

test("fields hold what is there, and nothing for no limit", () => {
  expect(typedOf(BEFORE)).toEqual({ streams: "3", queries: "", tokens: "0" });
});

test("only what changed is sent: a limit, another one, and none", () => {
  expect(changedLimits(BEFORE, typedOf(BEFORE))).toEqual({ limits: {}, problem: null });
  expect(changedLimits(BEFORE, { streams: " ", queries: "1e3", tokens: "0" }).limits).toEqual({
    streams: null,
    queries: 1000,
  });
});

test("what is no limit is told with its place", () => {
  expect(changedLimits(BEFORE, { ...typedOf(BEFORE), tokens: "-1" }).problem).toBe(
    "tokens: found -1, expected a number from 0 on, or nothing",
  );
  expect(changedLimits(BEFORE, { ...typedOf(BEFORE), queries: "many" }).problem).toContain("found many");
});
