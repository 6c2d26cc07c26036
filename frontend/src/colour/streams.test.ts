import { expect, it } from "vitest";
import { STREAM_SLOTS, streamColours, streamSlots } from "./streams";

it("gives different streams different colours while there are enough", () => {
  const names = ["departures", "arrivals", "weather", "a", "b", "c", "d", "e"];
  expect(new Set(streamSlots(names).values()).size).toBe(STREAM_SLOTS);
});

it("does not depend on the order of registration", () => {
  expect([...streamSlots(["b", "a", "c"])]).toEqual([...streamSlots(["c", "b", "a"])]);
});

it("gives every name some slot when there are more names than colours", () => {
  const names = Array.from({ length: 30 }, (_, i) => `s${i}`);
  for (const slot of streamSlots(names).values()) expect(slot).toBeLessThan(STREAM_SLOTS);
});

it("shows unregistered streams as neutral", () => {
  expect(streamColours(["a"])("nobody")).toBe("var(--stream-unknown)");
});
