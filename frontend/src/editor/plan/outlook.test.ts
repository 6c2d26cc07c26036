import { describe, expect, it } from "vitest";
import { bytes, count } from "../../format/quantities";
import { between, savings, stateOf } from "./outlook";

const store = (low: number, high: number) => ({
  label: "s",
  kept: false,
  measured: true,
  tuples: { low, expected: (low + high) / 2, high },
  bytes: { low: 10 * low, expected: 5 * (low + high), high: 10 * high },
});

describe("a draft's outlook", () => {
  it("adds up the ends of all stores", () => {
    const state = stateOf({ stores: [store(100, 300), store(10, 10)] });
    expect(state.tuples).toEqual({ low: 110, expected: 210, high: 310 });
    expect(state.bytes).toEqual({ low: 1100, expected: 2100, high: 3100 });
  });

  it("is nothing without stores", () => {
    expect(stateOf({ stores: [] }).bytes.high).toBe(0);
  });

  it("shows an interval only where there is one", () => {
    expect(between({ low: 2000, expected: 2000, high: 2000 }, count)).toBe(count(2000));
    expect(between({ low: 1e6, expected: 2e6, high: 3e6 }, bytes)).toBe(`${bytes(1e6)} to ${bytes(3e6)}`);
  });

  it("names only savings that there are", () => {
    expect(savings({ saved_probe: 0, saved_storage: 1060 })).toBe(`${count(1060)} fewer tuples kept`);
    expect(savings({ saved_probe: 2, saved_storage: 0 })).toBe("2/s fewer sent");
    expect(savings({ saved_probe: 2, saved_storage: 5 })).toBe("2/s fewer sent, 5 fewer tuples kept");
  });
});
