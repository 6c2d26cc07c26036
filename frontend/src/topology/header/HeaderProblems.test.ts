// @vitest-environment jsdom
import { h, render } from "preact";
import { expect, it } from "vitest";
import { EMPTY } from "../../live/__fixtures__/snapshot";
import type { Snapshot } from "../../live/messages";
import { HeaderProblems } from "./HeaderProblems";

function shown(snapshot: Snapshot): HTMLElement {
  const host = document.createElement("div");
  render(h(HeaderProblems, { topology: null, snapshot, loading: null, planning: null }), host);
  return host;
}

const failed = (set_aside: Record<string, number>): Snapshot => ({
  ...EMPTY,
  failed_batch: { at: "2026-01-01T00:00:00Z", batch: 7, error: "ValueError: no, filtering r", set_aside },
});

it("says that the tuples which make a batch fail are searched for", () => {
  const line = shown(failed({})).textContent;
  expect(line).toContain("Batch 7 failed repeatedly. Searching for the tuples");
  expect(line).toContain("ValueError: no, filtering r");
});

it("says how many tuples were set aside, and leads to the dead letters of their streams", () => {
  const page = shown(failed({ "r s": 1, t: 2 }));
  expect(page.textContent).toContain("Batch 7 failed repeatedly; 3 tuples were set aside");
  expect([...page.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual([
    "/streams/r%20s/",
    "/streams/t/",
  ]);
  expect(shown(failed({ r: 1 })).textContent).toContain("1 tuple was set aside");
});

it("says for which server a batch waits", () => {
  const waiting_batch = {
    at: "2026-01-01T00:00:00Z",
    batch: 7,
    reason: "the schema registry does not answer",
  };
  expect(shown({ ...EMPTY, waiting_batch }).textContent).toContain(
    "Batch 7 waits and is tried again: the schema registry does not answer",
  );
});

it("says nothing of a topology whose batches succeed", () => {
  expect(shown(EMPTY).textContent).toBe("");
});
