import { expect, it } from "vitest";
import { bestEntries, type Entry, score } from "./match";

const entries: Entry[] = [
  { kind: "page", name: "Queries", href: "/queries/" },
  { kind: "query", name: "late-rotations", href: "/queries/1/" },
  { kind: "query", name: "rotations-in-wind", href: "/queries/2/" },
  { kind: "stream", name: "weather", href: "/streams/weather/" },
];

it("finds letters in order only", () => {
  expect(score("late-rotations", "lr")).not.toBeNull();
  expect(score("late-rotations", "rl")).toBeNull();
});

it("prefers whole runs, and among them early ones", () => {
  expect(bestEntries(entries, "rot", 5).map((entry) => entry.name)).toEqual([
    "rotations-in-wind",
    "late-rotations",
  ]);
  expect(bestEntries(entries, "riw", 1)[0]?.name).toBe("rotations-in-wind");
});

it("finds by kind, and lists everything for an empty text", () => {
  expect(bestEntries(entries, "stream", 5).map((entry) => entry.name)).toEqual(["weather"]);
  expect(bestEntries(entries, "", 3)).toHaveLength(3);
});
