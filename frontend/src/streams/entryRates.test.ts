import { expect, it } from "vitest";
import { entryRate } from "./entryRates";

const counted = (at: number, entries: number) => ({ at, entries: new Map([["weather", entries]]) });

it("is the difference of two counts over the time between", () => {
  expect(entryRate({ before: counted(0, 100), now: counted(2000, 150) }, "weather")).toBe(25);
  expect(entryRate({ before: counted(0, 100), now: counted(2000, 100) }, "weather")).toBe(0);
});

it("is unknown before two counts, for other streams, and across a trim", () => {
  expect(entryRate({ before: null, now: counted(0, 1) }, "weather")).toBeNull();
  expect(entryRate({ before: counted(0, 1), now: counted(1, 2) }, "arrivals")).toBeNull();
  expect(entryRate({ before: counted(0, 100), now: counted(2000, 10) }, "weather")).toBeNull();
});
