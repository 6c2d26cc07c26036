// @vitest-environment jsdom
import { h, render } from "preact";
import { beforeEach, expect, it } from "vitest";
import type { Problem, WholeQuery } from "../api/documents";
import { sharedIn } from "../editor/text/share";
import { WholePane } from "./WholePane";

const problem = (line: number, found: string, expected: string): Problem => ({
  code: "unsupported",
  line,
  column: 3,
  end_column: 8,
  path: null,
  found,
  expected,
  suggestion: null,
  message: `${found}, expected ${expected}`,
});
const WHOLE: WholeQuery = {
  sql: "SELECT count(*) FROM a [RANGE 1 HOUR]",
  chosen: ["Streams have a window of 1 HOUR.", "Groups have no end."],
  left_out: [problem(4, "ORDER BY, which is left out", "results in the order in which they are found")],
  problems: [],
};

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.replaceChildren(host);
});
const items = (label: string): (string | null)[] =>
  [...host.querySelectorAll(`[aria-label="${label}"] li`)].map((item) => item.textContent);

it("opens the whole query in the editor and says what was chosen and left out", () => {
  render(h(WholePane, { whole: WHOLE }), host);
  const link = host.querySelector("a");
  expect(link?.textContent).toBe("Open the whole query in the editor");
  const { pathname, hash } = new URL(link?.href ?? "");
  expect(pathname).toBe("/queries/new/");
  expect(sharedIn(hash)).toEqual({ sql: WHOLE.sql, name: "", description: "" });
  expect(items("What was chosen")).toEqual(WHOLE.chosen);
  expect(items("What is left out")).toEqual([
    "4:3 found ORDER BY, which is left out, expected results in the order in which they are found",
  ]);
});

it("offers nothing that cannot run, and says for each thing what is expected", () => {
  const problems = [problem(2, "a subquery", "a join"), problem(5, "LIMIT", "all results")];
  render(h(WholePane, { whole: { sql: null, chosen: [], left_out: [], problems } }), host);
  expect(host.querySelector("a")).toBeNull();
  expect(items("What the whole query cannot have")).toEqual([
    "2:3 found a subquery, expected a join",
    "5:3 found LIMIT, expected all results",
  ]);
});
