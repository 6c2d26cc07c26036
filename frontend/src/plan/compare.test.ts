// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { pictureText, plainColour } from "../charts/exportPicture";
import type { EpochPoint, HistoryPoint, Snapshot } from "../live/messages";
import document_ from "./__fixtures__/flights.graph.json";
import { epochOf, epochRows, shapeText } from "./epochs";
import { forestOf } from "./forest";
import { boxesOf, layoutBoxes } from "./layout/physicalView";
import { shadeColour, shadingOf } from "./layout/shade";
import { type PhysicalGraph, parseGraph } from "./physicalGraph";
import { partsOf, planDiff } from "./planDiff";

const graph = parseGraph(document_);

/** The plan without one of its queries' last steps. */
function without(rule: string): PhysicalGraph {
  return { ...graph, rules: graph.rules.filter((one) => one.id !== rule) };
}

describe("planDiff", () => {
  it("finds nothing between a plan and itself", () => {
    const diff = planDiff(graph, graph);
    expect([diff.added, diff.removed]).toEqual([[], []]);
    expect(diff.kept).toEqual(partsOf(graph));
  });

  it("names what one plan has and the other has not, the other way round too", () => {
    const smaller = without("P-wd-a");
    const forth = planDiff(smaller, graph);
    expect(forth.added).toEqual([{ id: "P-wd-a", kind: "step", label: "σ weather → arrivals[tailnum]" }]);
    expect(planDiff(graph, smaller).removed).toEqual(forth.added);
    expect(forth.kept.length + forth.added.length).toBe(partsOf(graph).length);
  });
});

describe("epochRows", () => {
  const point = (batch: number, p99: number | null): HistoryPoint => ({
    batch,
    at: "2026-01-01T00:00:00Z",
    epoch: 1,
    seconds: batch / 10,
    tuples_in: 100,
    backlog: null,
    results: 2,
    latency_ms_p50: null,
    latency_ms_p99: p99,
    state_bytes: batch,
    state_tuples: 1,
    level_seconds: [],
  });
  const change = (batch: number, cause: string): Snapshot["switches"][number] => ({
    at: "2026-01-01T00:00:00Z",
    plan_id: `P${batch}`,
    epoch: batch,
    batch,
    cause,
    moved: 7,
    seconds: 0.5,
  });

  it("names the shapes of grids, those of several by the powers of two that make up the tasks", () => {
    expect(shapeText(8, [2])).toBe("4x2");
    expect(shapeText(7, [2, 1, 1])).toBe("2x2+2x1+1x1");
  });

  it("gives every batch to the switch before it, newest epoch first", () => {
    const rows = epochRows(
      [change(2, "deploy"), change(4, "rates moved")],
      [point(1, 5), point(2, 10), point(3, 30), point(4, null)],
    );
    expect(rows.map((row) => [row.planId, row.cause, row.batches])).toEqual([
      ["P4", "rates moved", 1],
      ["P2", "deploy", 2],
    ]);
    expect(rows[0]).toMatchObject({ moved: 7, pauseSeconds: 0.5 });
    expect(rows[1]).toMatchObject({
      tuplesIn: 200,
      results: 4,
      latencyP99Ms: 30,
      stateBytes: 3,
      secondsPerBatch: 0.25,
    });
    expect(rows[0]?.latencyP99Ms).toBeNull();
  });

  it("begins with the plan of the launch, unless that came later", () => {
    const launch = { planId: "P0", at: "2025-12-31T00:00:00Z" };
    const rows = epochRows([change(2, "deploy")], [point(1, null), point(2, null)], launch);
    expect(rows.map((row) => [row.planId, row.cause, row.batches])).toEqual([
      ["P2", "deploy", 1],
      ["P0", "start of the job", 1],
    ]);
    expect(
      epochRows([change(2, "deploy")], [point(1, null)], { ...launch, at: "2026-02-01T00:00:00Z" }),
    ).toHaveLength(1);
    expect(epochRows([], [point(1, null)], launch).map((row) => row.planId)).toEqual(["P0"]);
    expect(epochRows([], [], launch)).toEqual([]);
  });

  it("finds the epoch whose numbers a past plan shows", () => {
    const epochs = [
      [1, "P1"],
      [2, "P1"],
      [3, "P2"],
    ].map(
      ([epoch, plan_id]): EpochPoint => ({
        epoch: Number(epoch),
        at: "2026-01-01T00:00:00Z",
        plan_id: String(plan_id),
        first_batch: 1,
        last_batch: 2,
        event_seconds: 1,
        sent: 1,
        total_cores: null,
        q_error: null,
      }),
    );
    expect(epochOf(epochs, "P1", null)).toBe(2);
    expect(epochOf(epochs, "P1", "1")).toBe(1);
    // An epoch of another plan, or one that is forgotten, is not this plan's.
    expect(epochOf(epochs, "P1", "3")).toBe(2);
    expect(epochOf(epochs, "P9", "1")).toBeNull();
  });

  it("knows nothing of an epoch whose batches are forgotten", () => {
    expect(epochRows([change(2, "deploy")], [])[0]).toMatchObject({
      batches: 0,
      tuplesIn: null,
      secondsPerBatch: null,
      stateBytes: null,
    });
  });
});

describe("shading", () => {
  const forest = forestOf(graph);

  it("puts the dearest step at the end of the scale and leaves unknown ones out", () => {
    const { fractions, most } = shadingOf("cost", forest, graph, null, () => null);
    expect(most).toBe(
      Math.max(
        ...graph.estimates.flatMap((estimate) =>
          estimate.cost === null || !/^E-(?!.*store)/.test(estimate.id) ? [] : [estimate.cost],
        ),
      ),
    );
    expect(Math.max(...fractions.values())).toBe(1);
    expect(fractions.has("R-d")).toBe(false);
    expect(shadingOf("load", forest, graph, null, () => null).fractions.size).toBe(0);
    expect(shadeColour(fractions.get("R-d"))).toBeNull();
    expect(shadeColour(0)).not.toBe(shadeColour(1));
  });

  it("takes even stores and unshared steps as nothing", () => {
    const shared = shadingOf("query", forest, graph, null, () => null);
    expect(shared.fractions.get("P-w-w")).toBe(0);
    expect(Math.max(...shared.fractions.values())).toBe(1);
  });
});

describe("the physical graph", () => {
  it("has every store once and every edge between what sends and what receives", {
    timeout: 60_000,
  }, async () => {
    const boxes = boxesOf(graph);
    expect(boxes.boxes.filter((box) => box.kind === "store").map((box) => box.id)).toEqual(
      graph.stores.map((store) => store.id),
    );
    expect(boxes.lines.find((line) => line.id === "E-da-w")).toMatchObject({
      from: "S-arrivals-tailnum",
      to: "S-weather",
      kind: "all",
    });
    expect(boxes.lines.find((line) => line.kind === "emit")?.to).toMatch(/^query /);
    const ids = new Set(boxes.boxes.map((box) => box.id));
    expect(boxes.lines.every((line) => ids.has(line.from) && ids.has(line.to))).toBe(true);
    const placed = await layoutBoxes(boxes);
    expect(placed.lines.every((line) => line.points.length >= 2)).toBe(true);
    const source = Math.max(...placed.boxes.filter((box) => box.kind === "source").map((box) => box.x));
    const query = Math.min(...placed.boxes.filter((box) => box.kind === "query").map((box) => box.x));
    expect(source).toBeLessThan(query);
    expect(await layoutBoxes(boxes)).toEqual(placed);
  });
});

describe("an exported picture", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("stands alone: no classes, no zoom, its own size", () => {
    const host = document.createElement("div");
    host.innerHTML =
      '<svg class="forest"><g transform="translate(5,5) scale(2)">' +
      '<rect class="box" style="fill: red" tabindex="0"></rect></g></svg>';
    document.body.replaceChildren(host);
    const svg = host.querySelector("svg");
    if (svg === null) throw new Error("no drawing");
    const text = pictureText(svg, { width: 120, height: 80 });
    expect(text).toContain('viewBox="0 0 120 80"');
    expect(text).not.toMatch(/class=|scale\(|tabindex/);
    expect(text).toMatch(/fill="(red|rgb\(255, 0, 0\))"/);
    expect(svg.querySelector("g")?.getAttribute("transform")).toContain("scale");
  });

  it("writes mixed colours as every program reads them", () => {
    expect(plainColour("color(srgb 0.5 0.25 0)")).toBe("rgb(128, 64, 0)");
    expect(plainColour("color(srgb 0 0 1 / 0.5)")).toBe("rgba(0, 0, 255, 0.5)");
    expect(plainColour("rgb(1, 2, 3)")).toBe("rgb(1, 2, 3)");
  });
});
