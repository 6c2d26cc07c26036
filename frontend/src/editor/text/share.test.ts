import { describe, expect, it } from "vitest";
import { sharedIn, shareLink } from "./share";

const TEXT = {
  sql: "-- Böen über 20 → spät\nSELECT 'x' FROM s WHERE a > 1 AND b <> '?&#'",
  name: "böen",
  description: "",
};

describe("a link with a text", () => {
  it("carries any text there and back", () => {
    const link = new URL(shareLink("http://localhost:8000", "/queries/new/", TEXT));
    expect(link.pathname).toBe("/queries/new/");
    expect(link.search).toBe("");
    expect(sharedIn(link.hash)).toEqual(TEXT);
  });

  it("is none when it was cut or is something else", () => {
    const { hash } = new URL(shareLink("http://localhost:8000", "/queries/new/", TEXT));
    for (const damaged of ["", "#", "#results", hash.slice(0, -7), "#draft=%%%", "#draft=e30", "#draft=gICA"])
      expect(sharedIn(damaged)).toBeNull();
  });
});
