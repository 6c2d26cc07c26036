// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createTimeBrush, keyed, type Span, type TimeBrushData, within } from "./timeBrush";

const HOUR = 3_600_000;
const whole: Span = { from: 0, to: 100 * HOUR };
const chosen: Span = { from: 40 * HOUR, to: 60 * HOUR };

describe("the keys", () => {
  it("move what is chosen, up to the ends", () => {
    expect(keyed("ArrowLeft", chosen, whole)).toEqual({ from: 38 * HOUR, to: 58 * HOUR });
    expect(keyed("ArrowRight", chosen, whole)).toEqual({ from: 42 * HOUR, to: 62 * HOUR });
    expect(keyed("Home", chosen, whole)).toEqual({ from: 0, to: 20 * HOUR });
    expect(keyed("End", chosen, whole)).toEqual({ from: 80 * HOUR, to: 100 * HOUR });
    expect(keyed("ArrowLeft", { from: HOUR, to: 21 * HOUR }, whole)).toEqual({ from: 0, to: 20 * HOUR });
  });

  it("make it shorter and longer, until it is everything", () => {
    expect(keyed("+", chosen, whole)).toEqual({ from: 45 * HOUR, to: 55 * HOUR });
    expect(keyed("+", null, whole)).toEqual({ from: 25 * HOUR, to: 75 * HOUR });
    expect(keyed("-", chosen, whole)).toEqual({ from: 30 * HOUR, to: 70 * HOUR });
    expect(keyed("-", { from: 20 * HOUR, to: 80 * HOUR }, whole)).toBeNull();
    expect(keyed("Escape", chosen, whole)).toBeNull();
    const short = { from: HOUR, to: HOUR + 300_000 };
    expect(keyed("ArrowLeft", short, whole)).toEqual({ from: HOUR - 60_000, to: HOUR + 240_000 });
    const least = { from: 0, to: HOUR / 10 };
    expect(keyed("+", least, whole)).toEqual(least);
  });

  it("leave others to the page", () => {
    expect(keyed("Tab", chosen, whole)).toBeUndefined();
  });
});

it("chooses whole minutes, and never less than can be drawn", () => {
  expect(within({ from: 10_000, to: HOUR + 10_000 }, whole)).toEqual({ from: 60_000, to: HOUR });
  expect(within({ from: HOUR, to: HOUR + 1 }, whole)).toEqual({ from: HOUR, to: HOUR + 300_000 });
});

describe("the picture", () => {
  let host: HTMLElement;
  beforeEach(() => {
    host = document.createElement("div");
    document.body.replaceChildren(host);
  });
  const data = (changes: Partial<TimeBrushData> = {}): TimeBrushData => ({
    times: [0, 25, 50, 75].map((hour) => new Date(hour * HOUR)),
    values: [1, null, 3, 2],
    whole,
    chosen,
    onChoose: () => {},
    title: "four points",
    ...changes,
  });

  it("has a gap where nothing is known, marks what is chosen, and leaves nothing behind", () => {
    const onChoose = vi.fn();
    const chart = createTimeBrush(host);
    chart.update(data({ onChoose }));
    expect(host.querySelector("path.past")?.getAttribute("d")?.match(/M/g)).toHaveLength(2);
    const mark = host.querySelector(".selection");
    expect(Number(mark?.getAttribute("width"))).toBeCloseTo(0.2 * 180);
    expect(mark?.getAttribute("style") ?? "").not.toContain("none");
    const before = host.innerHTML;
    chart.update(data({ onChoose }));
    expect(host.innerHTML).toBe(before);
    chart.update(data({ onChoose, chosen: null }));
    expect(host.querySelector(".selection")?.getAttribute("style")).toContain("none");
    expect(onChoose, "drawing chooses nothing").not.toHaveBeenCalled();
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });

  it("is reached and moved by the keyboard", () => {
    const onChoose = vi.fn();
    createTimeBrush(host).update(data({ onChoose }));
    const svg = host.querySelector("svg");
    expect(svg?.getAttribute("tabindex")).toBe("0");
    svg?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    expect(onChoose).toHaveBeenCalledWith({ from: 42 * HOUR, to: 62 * HOUR });
    svg?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true }));
    expect(onChoose, "the browser's own keys stay its own").toHaveBeenCalledTimes(1);
  });

  it("is not redrawn under a drag, but behind it", () => {
    const onChoose = vi.fn();
    const chart = createTimeBrush(host);
    chart.update(data({ onChoose, chosen: null }));
    const at = (type: string, clientX: number): MouseEvent => {
      const event = new MouseEvent(type, { clientX, clientY: 20, bubbles: true });
      // jsdom does not take the window that the tests are given for one.
      Object.defineProperty(event, "view", { value: window });
      return event;
    };
    host.querySelector(".overlay")?.dispatchEvent(at("mousedown", 50));
    window.dispatchEvent(at("mousemove", 90));
    const picture = host.innerHTML;
    chart.update(data({ onChoose, chosen: null, title: "five points" }));
    expect(host.innerHTML).toBe(picture);
    window.dispatchEvent(at("mousemove", 110));
    window.dispatchEvent(at("mouseup", 110));
    expect(onChoose).toHaveBeenCalledTimes(1);
    const [found] = onChoose.mock.calls[0] as [Span];
    // 60 of 180 units, in whole minutes inward.
    expect(found.to - found.from).toBe((whole.to * 60) / 180 - 60_000);
    expect(host.querySelector("svg")?.getAttribute("aria-label")).toBe("five points");
  });
});
