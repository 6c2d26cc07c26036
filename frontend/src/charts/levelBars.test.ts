// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import type { HistoryPoint } from "../live/messages";
import { createLevelBars, type LevelBarsData, levelParts, levelText } from "./levelBars";

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.replaceChildren(host);
});

const point = (batch: number, seconds: number, level_seconds: number[]): HistoryPoint => ({
  batch,
  at: "2026-01-01T00:00:00Z",
  epoch: 1,
  seconds,
  tuples_in: 100,
  backlog: null,
  results: 2,
  latency_ms_p50: null,
  latency_ms_p99: null,
  state_bytes: 1,
  state_tuples: 1,
  level_seconds,
});
const history = [point(7, 0.4, [0.1, 0.2]), point(8, 0.2, []), point(9, 0.3, [0.25, 0.25])];

describe("levelParts", () => {
  it("stacks the levels and gives what they leave over to none", () => {
    expect(levelParts({ seconds: 1, level_seconds: [0.25, 0.5] })).toEqual([
      { level: 0, from: 0, to: 0.25 },
      { level: 1, from: 0.25, to: 0.75 },
      { level: null, from: 0.75, to: 1 },
    ]);
    expect(levelParts({ seconds: 1, level_seconds: [] })).toEqual([{ level: null, from: 0, to: 1 }]);
    expect(levelParts({ seconds: 0.5, level_seconds: [0.25, 0.5] }).map((part) => part.level)).toEqual([
      0, 1,
    ]);
    expect(levelText(point(41, 0.21, [0.05, 0.1]))).toBe(
      "batch 41: 210 ms: ingestion 50 ms, level 1 100 ms, the rest 60 ms",
    );
  });
});

describe("the bars", () => {
  const data = (changes: Partial<LevelBarsData> = {}): LevelBarsData => ({
    history,
    triggerMs: 800,
    onPoint: () => {},
    ...changes,
  });
  const bars = (): SVGGElement[] => [...host.querySelectorAll<SVGGElement>("g.batch")];
  const height = (part: Element): number => Number(part.getAttribute("height"));

  it("are as high as what they stand for, the trigger above them, and drawn again the same", () => {
    const chart = createLevelBars(host);
    chart.update(data());
    expect(bars().map((bar) => bar.querySelectorAll("rect.part").length)).toEqual([3, 1, 2]);
    const [ingestion, first] = [...host.querySelectorAll("rect.part")].map(height);
    expect((first ?? 0) / (ingestion ?? 1)).toBeCloseTo(2);
    const trigger = host.querySelector("line.trigger");
    expect(Number(trigger?.getAttribute("y1"))).toBe(8);
    const before = host.innerHTML;
    chart.update(data());
    expect(host.innerHTML).toBe(before);
    chart.update(data({ triggerMs: null }));
    expect(trigger?.getAttribute("display")).toBe("none");
    chart.update(data({ history: [] }));
    expect(bars()).toHaveLength(0);
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });

  it("are one stop of the Tab key, and arrows lead from batch to batch", () => {
    const seen: (number | null)[] = [];
    const chart = createLevelBars(host);
    chart.update(data({ onPoint: (batch) => seen.push(batch) }));
    expect(bars().map((bar) => bar.getAttribute("tabindex"))).toEqual(["-1", "-1", "0"]);
    const press = (key: string): void =>
      void document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    bars()[2]?.focus();
    press("ArrowLeft");
    expect(document.activeElement).toBe(bars()[1]);
    press("Home");
    press("ArrowLeft");
    expect(document.activeElement).toBe(bars()[0]);
    expect(seen.filter((batch) => batch !== null)).toEqual([9, 8, 7]);
    expect(bars().map((bar) => bar.getAttribute("tabindex"))).toEqual(["0", "-1", "-1"]);
    // A batch that leaves the window takes the stop to the newest.
    chart.update(data({ history: history.slice(1) }));
    expect(bars().map((bar) => bar.getAttribute("tabindex"))).toEqual(["-1", "0"]);
    expect(bars()[0]?.getAttribute("aria-label")).toBe("batch 8: 200 ms: the rest 200 ms");
  });
});
