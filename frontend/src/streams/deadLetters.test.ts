import { describe, expect, it } from "vitest";
import { parseTuple, reasonsOf } from "./deadLetters";

describe("dead letters", () => {
  it("counts reasons, those that quote a value together", () => {
    const letters = ["late", "at is not timestamp: 7", "late", "at is not timestamp: 'x'", "late"].map(
      (reason) => ({ reason }),
    );
    expect(reasonsOf(letters)).toEqual([
      ["late", 3],
      ["at is not timestamp", 2],
    ]);
  });

  it("takes an object as a tuple, and says what else was written", () => {
    expect(parseTuple('{"at": "2013-01-01"}')).toEqual({ at: "2013-01-01" });
    expect(parseTuple("[1]")).toMatch(/JSON object/);
    expect(parseTuple("7")).toMatch(/JSON object/);
    expect(parseTuple("{")).toMatch(/not JSON/);
  });
});
