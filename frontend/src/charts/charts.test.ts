// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { streamColours } from "../colour/streams";
import type { EpochPoint } from "../live/messages";
import document_ from "../plan/__fixtures__/flights.graph.json";
import { focusedKeys, forestOf } from "../plan/forest";
import { layoutForest } from "../plan/layout/forestLayout";
import { joinGraphOf, layoutJoinGraph } from "../plan/layout/joinGraph";
import { parseGraph } from "../plan/physicalGraph";
import { createEpochStrip } from "./epochStrip";
import type { ProbeForestData } from "./graphs/forestData";
import { createJoinGraph, shortPredicate } from "./graphs/joinGraph";
import { createProbeForest, strokeWidth } from "./graphs/probeForest";
import { createSkewBars } from "./skewBars";
import { createSparkline } from "./sparkline";

const graph = parseGraph(document_);
const forest = forestOf(graph);
const colour = streamColours(["arrivals", "departures", "weather"]);

let host: HTMLElement;
beforeEach(() => {
  // Without motion, so that the picture is final as soon as it is drawn.
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  host = document.createElement("div");
  document.body.replaceChildren(host);
});

describe("the probe trees", () => {
  const data = (changes: Partial<ProbeForestData> = {}): ProbeForestData => ({
    placed: layoutForest(forest),
    colour,
    text: (node) => ({ detail: "", title: node.node.label }),
    flow: () => null,
    kept: null,
    selected: null,
    fill: () => null,
    added: new Set(),
    onHover: () => {},
    onSelect: () => {},
    onFold: () => {},
    ...changes,
  });
  const keys = (): (string | null)[] =>
    [...host.querySelectorAll("g.node")].map((node) => node.getAttribute("data-key"));

  it("draws every node once, however often it is updated, and leaves nothing behind", () => {
    const chart = createProbeForest(host);
    chart.update(data());
    const first = keys();
    expect(first).toHaveLength(layoutForest(forest).nodes.length);
    chart.update(data());
    expect(keys()).toEqual(first);
    chart.update(data({ placed: layoutForest(forest, new Set(["R-d"])) }));
    expect(keys()).toHaveLength(first.length - 6);
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });

  it("moves through numbers only while it is hidden, and no further once it is disposed of", async () => {
    vi.stubGlobal("matchMedia", () => ({ matches: false }));
    const moving = async (milliseconds: number): Promise<Set<string | null>> => {
      const places = new Set<string | null>();
      for (const until = performance.now() + milliseconds; performance.now() < until; ) {
        await new Promise((passed) => setTimeout(passed, 5));
        places.add(scene?.getAttribute("transform") ?? null);
      }
      return places;
    };
    // The element of a test has no size, like one in a tab that is not shown.
    const chart = createProbeForest(host);
    chart.update(data());
    const scene = host.querySelector("svg.forest > g");
    // On a busy machine the motion begins late.
    let places = [...(await moving(100))];
    while (places.length === 1) places = [...places, ...(await moving(100))];
    expect(places.filter((place) => place?.includes("NaN"))).toEqual([]);
    chart.zoomBy(2);
    await moving(30);
    chart.dispose();
    expect(await moving(60)).toHaveLength(1);
  });

  it("dims what is out of focus and marks unknown flows", () => {
    const chart = createProbeForest(host);
    chart.update(
      data({
        kept: focusedKeys(forest, { query: "diverging-wind", store: null }),
        flow: (link) => (link.key === "E-d-w" ? 0 : null),
      }),
    );
    expect(
      [...host.querySelectorAll("g.node:not(.dimmed)")].map((node) => node.getAttribute("data-key")),
    ).toEqual(["R-w", "P-w-w", "P-w-w>diverging-wind"]);
    expect(host.querySelectorAll("path.link:not(.unknown)")).toHaveLength(1);
  });

  it("keeps the keyboard's focus when the plan changes, at the first node if the step is gone", () => {
    const chart = createProbeForest(host);
    chart.update(data());
    const focus = (): string | null | undefined => document.activeElement?.getAttribute("data-key");
    host.querySelector<SVGGElement>('[data-key="P-d-a"]')?.focus();
    chart.update(data({ placed: layoutForest({ ...forest, roots: forest.roots.toReversed() }) }));
    expect(focus()).toBe("P-d-a");
    chart.update(data({ placed: layoutForest(forest, new Set(["R-d"])) }));
    expect(focus()).toBe(layoutForest(forest).nodes[0]?.key);
    (document.activeElement as SVGGElement).blur();
    chart.update(data());
    expect(focus() ?? null).toBeNull();
  });

  it("says which node is hovered, focused and chosen by mouse and keyboard", () => {
    const [onHover, onSelect] = [vi.fn(), vi.fn()];
    const chart = createProbeForest(host);
    chart.update(data({ onHover, onSelect }));
    const node = host.querySelector<SVGGElement>('[data-key="P-d-a"]');
    node?.dispatchEvent(new Event("pointerenter"));
    node?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(onHover).toHaveBeenLastCalledWith("P-d-a");
    expect(onSelect).toHaveBeenCalledWith("P-d-a");
    node?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
    expect(onHover).toHaveBeenLastCalledWith("R-d");
  });

  it("gives faster links a wider stroke, and an unknown one its own", () => {
    expect(strokeWidth(0)).toBe(1);
    expect(strokeWidth(100)).toBeGreaterThan(strokeWidth(10));
    expect(strokeWidth(1e12)).toBe(9);
    expect(strokeWidth(null)).not.toBe(strokeWidth(0));
  });
});

describe("the epoch strip", () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const history = [0, 1, 2, 3].map((batch) => ({
    batch,
    at: at(batch),
    epoch: batch >> 1,
    seconds: 0.1,
    tuples_in: 5,
    backlog: null,
    results: 1,
    latency_ms_p50: null,
    latency_ms_p99: null,
    state_bytes: 1,
    state_tuples: 1,
    level_seconds: [],
  }));
  const epoch = (number: number, median: number | null): EpochPoint => ({
    epoch: number,
    at: at(number),
    plan_id: "P",
    first_batch: 2 * number,
    last_batch: 2 * number + 1,
    event_seconds: 1,
    sent: 3,
    total_cores: null,
    q_error: median === null ? null : { median, max: 40, worst: "E1", estimated: 1, actual: 40 },
  });

  it("marks every epoch that it shows by how far half of the estimates were off, and tells the worst", () => {
    const chart = createEpochStrip(host);
    const data = { history, switches: [], past: null, onChoose: () => {} };
    chart.update({ ...data, epochs: [epoch(0, 1.5), epoch(1, 12), epoch(7, 3)] });
    const marks = (): (string | null)[] =>
      [...host.querySelectorAll(".errors rect")].map((mark) => mark.getAttribute("class"));
    expect(marks()).toEqual(["good", "wrong"]);
    expect(host.querySelector(".errors rect.wrong title")?.textContent).toContain(
      "×40.0 at most (E1: 1/s estimated, 40/s actual)",
    );
    chart.update({ ...data, epochs: [epoch(0, 4), epoch(1, null)] });
    expect(marks()).toEqual(["rough", "unknown"]);
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });
});

describe("the sparkline", () => {
  it("leaves a gap for unknown values and shows no dot for an unknown last one", () => {
    const chart = createSparkline(host);
    chart.update({ values: [1, 2, null, 4, 5], colour: "red", title: "t" });
    expect(host.querySelector("path.stroke")?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
    expect(host.querySelector("circle")?.getAttribute("display")).toBeNull();
    chart.update({ values: [1, null], colour: "red", title: "t" });
    expect(host.querySelector("circle")?.getAttribute("display")).toBe("none");
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });
});

describe("the skew bars", () => {
  it("have one bar per task", () => {
    createSkewBars(host).update({ perTask: [3, 3, 6], colour: "red" });
    expect(host.querySelectorAll("rect")).toHaveLength(3);
  });
});

describe("the join graph", () => {
  it("draws aliases and predicates", () => {
    const join = joinGraphOf(graph, "rotations-in-wind");
    if (join === null) throw new Error("the fixture lost a query");
    createJoinGraph(host).update({ placed: layoutJoinGraph(join, 360, 190), colour });
    expect([...host.querySelectorAll("text.alias")].map((text) => text.textContent)).toEqual(["a", "d", "w"]);
    expect([...host.querySelectorAll("g.join > text")].map((text) => text.textContent)).toEqual([
      "tailnum",
      "origin",
    ]);
  });

  it("shortens predicates without losing their number", () => {
    expect(shortPredicate("d.origin = w.origin")).toBe("origin");
    expect(shortPredicate("d.origin = w.airport\nd.a < w.b")).toBe("origin = airport +1");
    expect(shortPredicate("ABS(x.wind_direction - y.wind_direction) > 90")).toHaveLength(24);
  });
});
