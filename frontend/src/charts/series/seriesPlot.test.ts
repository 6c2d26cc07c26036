// @vitest-environment jsdom
import { beforeEach, expect, it } from "vitest";
import { createSeriesPlot, type SeriesPlotData } from "./seriesPlot";

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.replaceChildren(host);
});

const data = (values: readonly (number | null)[]): SeriesPlotData => ({
  times: values.map((_, i) => new Date(Date.UTC(2026, 0, 1, 0, 0, i))),
  series: [
    { name: "accepted", colour: "red", dash: "", values },
    { name: "late", colour: "blue", dash: "4 3", values: values.map(() => 0) },
  ],
  format: (value) => `${value}/s`,
  title: "two lines",
});
const path = (i: number): string =>
  host.querySelectorAll("path[stroke-dasharray]")[i]?.getAttribute("d") ?? "";

it("draws a line per series with a gap where a value is unknown, and leaves nothing behind", () => {
  const chart = createSeriesPlot(host);
  chart.update(data([1, 2, null, 4, 8]));
  expect(path(0).match(/M/g)).toHaveLength(2);
  // Zero lies on the axis, whatever the others are.
  expect(path(1)).toMatch(/^M58,110L/);
  expect(host.querySelector("svg")?.getAttribute("aria-label")).toBe("two lines");
  expect(host.textContent).toContain("8/s");
  const before = host.innerHTML;
  chart.update(data([1, 2, null, 4, 8]));
  expect(host.innerHTML).toBe(before);
  chart.dispose();
  expect(host.children).toHaveLength(0);
});

it("draws nothing without values", () => {
  const chart = createSeriesPlot(host);
  chart.update(data([null, null]));
  expect(path(0)).toBe("");
  chart.update(data([]));
  expect(path(0)).toBe("");
});

it("has rules within its span only, with labels where there is room", () => {
  const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  const rule = (second: number) => ({ at: at(second), label: `plan.${second}`, title: `switch ${second}` });
  const chart = createSeriesPlot(host);
  const ruled = {
    ...data([1, 2, 3]),
    span: [at(0), at(100)] as const,
    rules: [-5, 10, 11, 50, 100, 101].map(rule),
  };
  chart.update(ruled);
  const texts = (name: string): string[] =>
    [...host.querySelectorAll(`.rules ${name}`)].map((one) => one.textContent ?? "");
  expect(texts("title")).toEqual(["switch 10", "switch 11", "switch 50", "switch 100"]);
  expect(texts("text")).toEqual(["plan.10", "", "plan.50", "plan.100"]);
  expect(path(0), "the axis is the span's").toMatch(/^M58,/);
  expect(path(0)).toMatch(/L65\.\d+,[\d.]+$/);
  chart.update({ ...ruled, rules: [] });
  expect(texts("title")).toEqual([]);
});

it("says what is under the pointer", () => {
  const chart = createSeriesPlot(host);
  chart.update(data([1, null, 3]));
  const svg = host.querySelector("svg");
  const pointed = (): Element | null => host.querySelector(".pointed");
  expect(pointed()?.getAttribute("visibility")).toBe("hidden");
  const point = (clientX: number): void => {
    svg?.dispatchEvent(Object.assign(new Event("pointermove"), { clientX, clientY: 40 }));
  };
  point(440);
  expect(pointed()?.textContent).toBe("2026-01-01 00:00:02 · accepted 3/s · late 0/s");
  point(260);
  expect(pointed()?.textContent).toBe("2026-01-01 00:00:01 · accepted – · late 0/s");
  expect(pointed()?.getAttribute("visibility")).toBe("visible");
  svg?.dispatchEvent(new Event("pointerleave"));
  expect(pointed()?.getAttribute("visibility")).toBe("hidden");
  chart.update(data([]));
  point(260);
  expect(pointed()?.getAttribute("visibility")).toBe("hidden");
});
