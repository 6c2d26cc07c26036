// @vitest-environment jsdom
import { beforeEach, expect, it } from "vitest";
import { dropDraft, keepDraft, readDraft } from "./draft";

beforeEach(() => localStorage.clear());

it("keeps one draft per query", () => {
  keepDraft(null, { sql: "SELECT 1", name: "n", description: "", version: null });
  keepDraft(7, { sql: "SELECT 2", name: "q", description: "d", version: 3 });
  expect(readDraft(null)?.sql).toBe("SELECT 1");
  expect(readDraft(7)).toEqual({ sql: "SELECT 2", name: "q", description: "d", version: 3 });
  dropDraft(7);
  expect(readDraft(7)).toBeNull();
});

it("forgets what it cannot read", () => {
  localStorage.setItem("millrace.draft.7", "{ not json");
  expect(readDraft(7)).toBeNull();
  localStorage.setItem("millrace.draft.7", '{"sql": 1}');
  expect(readDraft(7)).toBeNull();
  expect(localStorage.getItem("millrace.draft.7")).toBeNull();
});
