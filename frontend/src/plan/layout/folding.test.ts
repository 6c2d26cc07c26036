import { expect, it } from "vitest";
import { everyTree, type Folding, isFolded, UNCHOSEN, withTree } from "./folding";

const SMALL = ["r", "s"];
const OTHER = ["s", "t"];
const foldedOf = (folding: Folding, roots: readonly string[], usual: boolean): string[] =>
  roots.filter((root) => isFolded(folding, root, usual));

it("follows the plan's size until somebody chooses", () => {
  expect(foldedOf(UNCHOSEN, SMALL, false)).toEqual([]);
  expect(foldedOf(UNCHOSEN, SMALL, true)).toEqual(SMALL);
});

it("keeps a choice when another plan takes over, also one of another size", () => {
  for (const usual of [true, false]) {
    expect(foldedOf(everyTree(true), OTHER, usual)).toEqual(OTHER);
    expect(foldedOf(everyTree(false), OTHER, usual)).toEqual([]);
    expect(foldedOf(withTree(UNCHOSEN, "s", true), OTHER, usual)).toContain("s");
    expect(foldedOf(withTree(everyTree(true), "s", false), OTHER, usual)).toEqual(["t"]);
  }
});

it("forgets single trees when all are chosen anew", () => {
  expect(foldedOf(withTree(everyTree(true), "r", false), SMALL, false)).toEqual(["s"]);
  expect(foldedOf(everyTree(true), SMALL, false)).toEqual(SMALL);
});
