import { describe, expect, it } from "vitest";
import { span } from "../format/quantities";
import { documentOf, EMPTY, toldOf } from "./alertForm";

describe("the form of an alert", () => {
  it("sends nothing for what was left empty", () => {
    expect(documentOf({ ...EMPTY, name: " night ", target: "https://a.org ", stuck: " " })).toEqual({
      name: "night",
      topology: null,
      channel: "webhook",
      target: "https://a.org",
      on_failed: true,
      lag_seconds: null,
      stuck_seconds: null,
      enabled: true,
      team: null,
    });
    expect(documentOf({ ...EMPTY, topology: "flights", lag: "90", team: "airside" })).toMatchObject({
      topology: "flights",
      lag_seconds: 90,
      stuck_seconds: 60,
      team: "airside",
    });
  });

  it("does not take a word for silence: the server refuses it", () => {
    expect(documentOf({ ...EMPTY, lag: "soon" }).lag_seconds).toBe(-1);
  });

  it("puts a rule into words", () => {
    expect(toldOf({ on_failed: true, lag_seconds: 60, stuck_seconds: null })).toBe(
      `it fails, lags by ${span(60_000)}`,
    );
    expect(toldOf({ on_failed: false, lag_seconds: null, stuck_seconds: 30 })).toBe(
      `stands still for ${span(30_000)}`,
    );
  });
});
