// @vitest-environment jsdom
import { expect, it } from "vitest";
import { ownActions, topologyActions } from "./actions";
import { chosenTheme } from "./theme";

it("asks before it interrupts, and offers only what the state allows", () => {
  const known = [
    { name: "flights", state: "running", queries: ["pairs"] },
    { name: "taxi", state: "stopped", queries: [] },
  ] as const;
  const found = topologyActions(known);
  expect(found.map(({ name, href, act }) => [name, href, act !== undefined])).toEqual([
    ["Stop flights…", "/topologies/flights/?ask=stop", false],
    ["Restart flights…", "/topologies/flights/?ask=restart", false],
    ["Re-optimize flights", "/topologies/flights/", true],
    ["Start taxi", "/topologies/taxi/", true],
  ]);
});

it("changes the theme at once", async () => {
  const dark = ownActions().find(({ name }) => name === "Dark theme");
  await dark?.act?.();
  expect(chosenTheme()).toBe("dark");
  expect(document.documentElement.dataset.theme).toBe("dark");
});
