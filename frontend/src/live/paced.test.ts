// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { paced } from "./paced";

const DRAWING_MS = 40;
const FRAME_MS = 16;

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "requestAnimationFrame"] }),
);
afterEach(() => void vi.useRealTimers());

/** What is shown, when; each drawing takes a while. */
function screen(): { shown: [number, number][]; show: (value: number) => void } {
  const began = performance.now();
  const shown: [number, number][] = [];
  return {
    shown,
    show: (value) => {
      shown.push([performance.now() - began, value]);
    },
  };
}

test("a value that comes alone is shown at once", () => {
  const { shown, show } = screen();
  const updates = paced(show);
  for (let value = 0; value < 5; value += 1) {
    updates.push(value);
    vi.advanceTimersByTime(1000);
  }
  expect(shown).toEqual([0, 1, 2, 3, 4].map((value) => [value * 1000, value]));
});

test("of those that come while something is drawn only the newest is shown, and it always is", () => {
  const { shown, show } = screen();
  const updates = paced(show);
  for (let value = 0; value < 100; value += 1) {
    updates.push(value);
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(1000);
  expect(shown.map(([, value]) => value)[0]).toBe(0);
  expect(shown.at(-1)?.[1]).toBe(99);
  // A frame to draw, and as long again for everything else.
  expect(shown.length).toBeLessThanOrEqual(Math.ceil(100 / (2 * FRAME_MS)) + 2);
  const moments = shown.map(([at]) => at);
  for (const [number, at] of moments.slice(1).entries())
    expect(at - (moments[number] ?? 0)).toBeGreaterThanOrEqual(FRAME_MS);
});

test("what takes long to draw is drawn half of the time at most", () => {
  let drawing = 0;
  let drawn = 0;
  const updates = paced(() => {
    drawn += 1;
    drawing += DRAWING_MS;
    vi.advanceTimersByTime(DRAWING_MS);
  });
  const began = performance.now();
  for (let value = 0; value < 400; value += 1) {
    updates.push(value);
    vi.advanceTimersByTime(5);
  }
  expect(drawn).toBeGreaterThan(10);
  expect(drawing).toBeLessThanOrEqual((performance.now() - began) / 2 + DRAWING_MS);
});

test("a page that nobody sees still shows the newest value", () => {
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const { shown, show } = screen();
  const updates = paced(show);
  for (const value of [1, 2, 3]) updates.push(value);
  vi.advanceTimersByTime(100);
  expect(shown.map(([, value]) => value)).toEqual([1, 3]);
});

test("nothing is shown after the end", () => {
  const { shown, show } = screen();
  const updates = paced(show);
  updates.push(1);
  updates.push(2);
  updates.end();
  vi.advanceTimersByTime(1000);
  expect(shown.map(([, value]) => value)).toEqual([1]);
});
