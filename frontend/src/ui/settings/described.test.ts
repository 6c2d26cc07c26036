import { expect, test } from "vitest";
import { faultsOfSettings, typedOf } from "./described";

const described = {
  properties: {
    rows: { type: "integer", title: "Rows", description: "Of a batch", minimum: 1, maximum: 9, default: 3 },
    budget: {
      anyOf: [{ type: "number", exclusiveMinimum: 0 }, { type: "null" }],
      title: "Budget",
      description: "Tuples",
      default: null,
    },
    weight: { type: "number", title: "Weight", description: "Cost", minimum: 0, default: 1 },
    share: { type: "number", title: "Share", description: "Of all", maximum: 1, default: 1 },
  },
};
const faults = (typed: Record<string, string>): string[] =>
  faultsOfSettings(described, { ...typedOf(described, null), ...typed });

test("what stands in the fields at first is in order", () => {
  expect(faults({})).toEqual([]);
  expect(faults({ rows: "9", budget: " 0.5 ", weight: "0" })).toEqual([]);
});

test("a number that cannot be is told with what may be", () => {
  expect(faults({ rows: "10", budget: "0", weight: "-1", share: "2" })).toEqual([
    "Rows is a whole number from 1 to 9, not 10.",
    "Budget is a number above 0, not 0.",
    "Weight is a number of at least 0, not -1.",
    "Share is a number up to 1, not 2.",
  ]);
  expect(faults({ rows: "2.5", weight: "many" })).toEqual([
    "Rows is a whole number from 1 to 9, not 2.5.",
    "Weight is a number of at least 0, not many.",
  ]);
});
