import { expect, it } from "vitest";
import { amountOf, money } from "./money";

it.each([
  [12.345, "EUR 12.35"],
  [0, "EUR 0.00"],
  [0.004, "EUR <0.01"],
  [1234567.8, "EUR 1,234,567.80"],
])("says %d as %s", (value, text) => {
  expect(money(value, "EUR")).toBe(text);
});

it("says nothing of what has no price", () => {
  expect(money(null, "EUR")).toBe("–");
});

it.each([
  ["", null],
  [" 12.5 ", 12.5],
  ["1,200", 1200],
  ["0", 0],
  ["twelve", -1],
  ["Infinity", -1],
])("takes %j for %j", (text, value) => {
  expect(amountOf(text)).toBe(value);
});
