import { describe, expect, it } from "vitest";
import type { Costs } from "../../api/documents";
import asOf from "../__fixtures__/asOf.graph.json";
import flights from "../__fixtures__/flights.graph.json";
import { largeGraph } from "../__fixtures__/largeGraph";
import running from "../__fixtures__/running.graph.json";
import { parseGraph } from "../physicalGraph";
import { ROWS_MOST } from "./folds";
import { layoutRiver } from "./layout";
import { litLinks, type River, riverOf } from "./river";

const graph = parseGraph(flights);
const rates = (id: string): number | null =>
  graph.estimates.find((estimate) => estimate.id === id)?.tuples_per_second ?? null;

/** Every part costs something of its own, so that what falls on a query tells which parts it pays for. */
const costs: Costs = {
  unit: "cores",
  common: 7,
  streams: { arrivals: 100, departures: 200, weather: 300 },
  elements: Object.fromEntries(
    [...graph.stores.map(({ id }) => id), ...graph.rules.map(({ id }) => id)].map((id, i) => [id, i + 1]),
  ),
  answers: Object.fromEntries(graph.queries.map(({ name }) => [name, 10])),
  queries: {},
};

function mouthOf(river: River, query: string): number {
  return river.links.reduce((sum, link) => sum + (link.target === `query ${query}` ? link.value : 0), 0);
}

describe("the river of a plan", () => {
  it("has each stream and each query once, whatever the number of trees", () => {
    const { nodes } = riverOf(graph, { measure: "tuples", costs: null, rates });
    const of = (kind: string): string[] =>
      nodes.flatMap((node) => (node.kind === kind ? [node.label] : [])).sort();
    expect(of("stream")).toEqual(["arrivals", "departures", "weather"]);
    expect(of("query")).toEqual(graph.queries.map(({ name }) => name).sort());
    // Weather is met behind departures alone at level 1, and behind both at level 2.
    expect(of("step").filter((label) => label.startsWith("weather"))).toHaveLength(2);
  });

  it("carries all work to the queries, and splits what is shared evenly", () => {
    const river = riverOf(graph, { measure: "cores", costs, rates });
    const used = new Set(river.nodes.flatMap(({ parts }) => parts));
    const spent =
      600 +
      Object.entries(costs.elements).reduce(
        (sum, [id, cost]) => sum + (used.has(id) || graph.stores.some((store) => store.id === id) ? cost : 0),
        0,
      );
    const mouths = graph.queries.map(({ name }) => mouthOf(river, name));
    expect(mouths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(spent, 6);
    // One query over weather alone: what it shares of the stream and the store, and its own step.
    const sharing = graph.queries.length;
    const weather = costs.elements["S-weather"] ?? 0;
    const step = costs.elements["P-w-w"] ?? 0;
    const usersOfWeather = graph.queries.filter(({ inputs }) =>
      inputs.some(({ stream }) => stream === "weather"),
    ).length;
    expect(usersOfWeather).toBe(sharing - 1);
    expect(mouthOf(river, "diverging-wind")).toBeCloseTo((300 + weather) / usersOfWeather + step, 6);
  });

  it("never loses work on the way: what leaves a place is what came and what it costs", () => {
    const river = riverOf(graph, { measure: "cores", costs, rates });
    for (const node of river.nodes.filter(({ kind }) => kind === "step")) {
      const into = river.links.filter(({ target }) => target === node.key);
      const out = river.links.filter(({ source }) => source === node.key);
      const sum = (links: typeof into): number => links.reduce((total, { value }) => total + value, 0);
      expect(sum(out)).toBeCloseTo(sum(into) + (node.cost ?? 0), 6);
    }
  });

  it("lights a query's water, and what depends on a stream", () => {
    const river = riverOf(graph, { measure: "tuples", costs: null, rates });
    const alone = litLinks(river, "query diverging-wind") ?? new Set();
    expect([...alone].every((key) => key.includes("weather") || key.includes("diverging"))).toBe(true);
    const behind = litLinks(river, "stream arrivals") ?? new Set();
    const reached = river.links.filter(({ key }) => behind.has(key)).map(({ target }) => target);
    expect(reached).toContain("query rotations-in-wind");
    expect(reached).not.toContain("query diverging-wind");
    expect(litLinks(river, null)).toBeNull();
  });

  it("is drawn for one query alone", () => {
    const river = riverOf(graph, { measure: "cores", costs, rates, query: "diverging-wind" });
    expect(river.nodes.map(({ label }) => label).sort()).toEqual(["diverging-wind", "weather", "weather"]);
    const all = riverOf(graph, { measure: "cores", costs, rates });
    expect(mouthOf(river, "diverging-wind")).toBeCloseTo(mouthOf(all, "diverging-wind"), 6);
  });

  it("leads through what waits, and ends", () => {
    const waiting = parseGraph(asOf);
    const river = riverOf(waiting, { measure: "tuples", costs: null, rates: () => 1 });
    expect(river.nodes.some(({ kind }) => kind === "hold")).toBe(true);
    const placed = layoutRiver(river, { width: 900, height: 300, gap: 12, labels: 0 });
    expect(placed.nodes.at(-1)?.x).toBeLessThan(900);
    expect(placed.links.every(({ path }) => !path.includes("NaN"))).toBe(true);
  });

  it("leads through groups without an end to their query", () => {
    const river = riverOf(parseGraph(running), { measure: "tuples", costs: null, rates: () => 1 });
    const groups = river.nodes.filter(({ kind }) => kind === "hold");
    expect(groups).toHaveLength(1);
    const lit = litLinks(river, groups[0]?.key ?? null) ?? new Set();
    const reached = river.links.filter(({ key }) => lit.has(key)).map(({ target }) => target);
    expect(reached).toContain("query paid");
    const placed = layoutRiver(river, { width: 900, height: 300, gap: 12, labels: 0 });
    const at = new Map(placed.nodes.map(({ node, x }) => [node.kind, x]));
    expect(at.get("hold")).toBeLessThan(at.get("query") ?? 0);
  });

  it("folds 300 stores and 1,000 queries to what can be read, quickly", () => {
    const large = largeGraph(300, 1000);
    const began = performance.now();
    const river = riverOf(large, { measure: "tuples", costs: null, rates: () => 1 });
    const placed = layoutRiver(river, { width: 1100, height: 430, gap: 13, labels: 200 });
    const seconds = (performance.now() - began) / 1000;
    const queries = river.nodes.filter(({ kind }) => kind === "query");
    expect(queries.reduce((sum, node) => sum + node.queries.size, 0)).toBe(1000);
    expect(placed.nodes.length).toBeLessThan(130);
    expect(queries.length).toBeLessThanOrEqual(ROWS_MOST + 2);
    // Far above what it takes: nothing here may grow with the square of a plan.
    expect(seconds).toBeLessThan(20);
  });

  it("folds queries by team where teams are given", () => {
    const teams = new Map(graph.queries.map(({ name }, i) => [name, i % 2 === 0 ? "airside" : "weather"]));
    const river = riverOf(graph, { measure: "tuples", costs: null, rates, teams });
    const folded = river.nodes.filter(({ kind }) => kind === "query").map(({ label }) => label);
    expect(folded).toHaveLength(2);
  });
});
