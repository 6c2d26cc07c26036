import { describe, expect, it } from "vitest";
import asOf from "./__fixtures__/asOf.graph.json";
import document from "./__fixtures__/flights.graph.json";
import { expressionText } from "./expressionText";
import { focusedKeys, forestOf, nodesOf, probeOrders } from "./forest";
import { layoutForest, ROW_HEIGHT } from "./layout/forestLayout";
import { joinGraphOf, layoutJoinGraph } from "./layout/joinGraph";
import { type Expression, parseGraph } from "./physicalGraph";

const graph = parseGraph(document);
const forest = forestOf(graph);

describe("parseGraph", () => {
  it("refuses a document of another version and names the path", () => {
    expect(() => parseGraph({ ...document, version: 2 })).toThrow(/version/);
  });
});

describe("forestOf", () => {
  it("has one tree per source rule and every probe rule once", () => {
    const sources = graph.rules.filter((rule) => rule.kind === "source");
    const probes = graph.rules.filter((rule) => rule.kind === "probe");
    expect(forest.roots.map((root) => root.key)).toEqual(sources.map((rule) => rule.id));
    const keys = nodesOf(forest).map((node) => node.key);
    expect(keys.filter((key) => probes.some((rule) => rule.id === key)).sort()).toEqual(
      probes.map((rule) => rule.id).sort(),
    );
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("has a query leaf for every emit and hands its query up to the root", () => {
    const emits = graph.rules.flatMap((rule) =>
      rule.kind === "store" ? [] : rule.emits.map((emit) => `${rule.id}>${emit.query}`),
    );
    const leaves = nodesOf(forest).filter((node) => node.kind === "query");
    expect(leaves.map((leaf) => leaf.key).sort()).toEqual(emits.sort());
    expect(forest.roots[0]?.queries).toEqual(["delayed-in-wind", "late-rotations", "rotations-in-wind"]);
  });

  it("shows a base store beside the source that fills it, not as a step", () => {
    expect(forest.roots[0]?.keptIn.map((store) => store.label)).toEqual(["departures[origin]"]);
    expect(nodesOf(forest).some((node) => node.kind === "feed")).toBe(false);
  });

  it("lists probe orders with shared prefixes and the streams", () => {
    const orders = probeOrders(forest).map(({ start, steps }) =>
      [start.label, ...steps.map((step) => step.label)].join(" → "),
    );
    expect(orders).toContain("departures → arrivals[tailnum] → weather");
    expect(orders).toContain("departures → arrivals[tailnum]");
    expect(orders).toContain("weather → weather");
  });
});

describe("focusedKeys", () => {
  it("keeps everything without a focus", () => {
    expect(focusedKeys(forest, { query: null, store: null })).toBeNull();
  });

  it("keeps just the paths of a query", () => {
    const kept = focusedKeys(forest, { query: "diverging-wind", store: null });
    expect([...(kept ?? [])].sort()).toEqual(["P-w-w", "P-w-w>diverging-wind", "R-w"]);
  });

  it("keeps every tree that probes a store", () => {
    const kept = focusedKeys(forest, { query: null, store: "S-arrivals-tailnum" });
    expect(kept?.has("P-d-a")).toBe(true);
    expect(kept?.has("R-d")).toBe(true);
    expect(kept?.has("P-da-w>rotations-in-wind")).toBe(true);
    expect(kept?.has("P-d-w")).toBe(false);
  });
});

describe("layoutForest", () => {
  const placed = layoutForest(forest);

  it("puts every node into its level's column and no two nodes on one place", () => {
    for (const node of placed.nodes) expect(node.x).toBe(placed.columns[node.node.level]?.x);
    const places = placed.nodes.map((node) => `${node.x},${Math.round(node.y)}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it("keeps nodes of one column at least a row apart", () => {
    for (const { x } of placed.columns) {
      const ys = placed.nodes
        .filter((node) => node.x === x)
        .map((node) => node.y)
        .sort((a, b) => a - b);
      ys.slice(1).forEach((y, i) => {
        expect(y - (ys[i] ?? 0)).toBeGreaterThanOrEqual(ROW_HEIGHT - 1e-6);
      });
    }
  });

  it("is a pure function and stays inside its size", () => {
    expect(layoutForest(forest)).toEqual(placed);
    for (const node of placed.nodes) {
      expect(node.x).toBeLessThan(placed.width);
      expect(node.y).toBeLessThan(placed.height);
    }
  });

  it("folds a tree into one row and says how much it hides", () => {
    const folded = layoutForest(forest, new Set(["R-d"]));
    const root = folded.nodes.find((node) => node.key === "R-d");
    expect(root?.hidden).toBe(6);
    expect(folded.nodes.length).toBe(placed.nodes.length - 6);
    expect(folded.height).toBeLessThan(placed.height);
  });
});

describe("joinGraphOf", () => {
  it("reads aliases, windows, filters and predicates back", () => {
    const join = joinGraphOf(graph, "delayed-in-wind");
    expect(join?.nodes).toEqual([
      { alias: "d", stream: "departures", windowMs: 3_600_000, filters: ["d.delay > 30"] },
      { alias: "w", stream: "weather", windowMs: 3_600_000, filters: ["w.wind_speed > 20"] },
    ]);
    expect(join?.edges).toEqual([
      { aliases: ["d", "w"], predicates: ["d.origin = w.origin"], equality: true },
    ]);
  });

  it("keeps the two sides of a self-join apart", () => {
    const join = joinGraphOf(graph, "diverging-wind");
    expect(join?.nodes.map((node) => node.alias)).toEqual(["x", "y"]);
    expect(join?.edges[0]?.equality).toBe(false);
    expect(join?.edges[0]?.predicates).toContain("ABS(x.wind_dir - y.wind_dir) > 90");
  });

  it("tells as-of joins, also of a stream with itself", () => {
    expect(joinGraphOf(parseGraph(asOf), "changes")?.edges).toEqual([
      {
        aliases: ["q", "t"],
        predicates: ["t.symbol = q.symbol", "q.at < t.at"],
        equality: true,
        waits: "as-of join",
      },
    ]);
  });

  it("calls results that are read by the name of their query", () => {
    const derived = { edges: [], label: "busy", lag_us: 0, store: "S-1", tier: 0 };
    const streams = graph.streams.map((one) => (one.name === "weather" ? { ...one, derived } : one));
    const join = joinGraphOf({ ...graph, streams }, "delayed-in-wind");
    expect(join?.nodes.map((node) => node.stream)).toEqual(["departures", "busy"]);
  });

  it("does not invent a query", () => {
    expect(joinGraphOf(graph, "nobody")).toBeNull();
  });

  it("is placed inside its box, the same way every time", () => {
    const join = joinGraphOf(graph, "rotations-in-wind");
    if (join === null) throw new Error("the fixture lost a query");
    const placed = layoutJoinGraph(join, 360, 220);
    expect(layoutJoinGraph(join, 360, 220)).toEqual(placed);
    const spread = (values: number[]): number => Math.max(...values) - Math.min(...values);
    expect(spread(placed.nodes.map((node) => node.x))).toBeGreaterThan(
      spread(placed.nodes.map((node) => node.y)),
    );
    for (const node of placed.nodes) {
      expect(node.x).toBeGreaterThan(0);
      expect(node.x).toBeLessThan(360);
      expect(node.y).toBeGreaterThan(0);
      expect(node.y).toBeLessThan(220);
    }
  });
});

describe("expressionText", () => {
  const x: Expression = { kind: "column", input: "d", name: "x", type: "int" };
  const one: Expression = { kind: "literal", value: 1, type: "int" };
  const call = (name: string, ...args: Expression[]): Expression => ({
    kind: "call",
    function: name,
    arguments: args,
    type: "int",
  });

  it("puts parentheses where the meaning needs them and nowhere else", () => {
    expect(expressionText(call("subtract", x, call("subtract", x, one)))).toBe("d.x - (d.x - 1)");
    expect(expressionText(call("subtract", call("subtract", x, one), one))).toBe("d.x - 1 - 1");
    expect(expressionText(call("multiply", call("add", x, one), one))).toBe("(d.x + 1) * 1");
    expect(expressionText(call("and", call("or", x, one), x))).toBe("(d.x OR 1) AND d.x");
  });

  it("writes literals as SQL", () => {
    expect(expressionText({ kind: "literal", value: "it's", type: "string" })).toBe("'it''s'");
    expect(expressionText({ kind: "literal", value: 600_000_000, type: "interval" })).toBe(
      "INTERVAL '10 min'",
    );
    expect(expressionText({ kind: "literal", value: null, type: "int" })).toBe("NULL");
    expect(expressionText(call("in", x, one, one))).toBe("d.x IN (1, 1)");
    expect(expressionText(call("case", x, one, one))).toBe("CASE WHEN d.x THEN 1 ELSE 1 END");
  });
});
