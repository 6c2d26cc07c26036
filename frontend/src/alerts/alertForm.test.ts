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
      letters_per_minute: null,
      latency_ms: null,
      state_mb: null,
      cores: null,
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
    const nothing = {
      on_failed: false,
      lag_seconds: null,
      stuck_seconds: null,
      letters_per_minute: null,
      latency_ms: null,
      state_mb: null,
      cores: null,
    };
    expect(toldOf({ ...nothing, on_failed: true, lag_seconds: 60 })).toBe(
      `it fails, lags by ${span(60_000)}`,
    );
    expect(toldOf({ ...nothing, stuck_seconds: 30 })).toBe(`stands still for ${span(30_000)}`);
    expect(toldOf({ ...nothing, letters_per_minute: 0, latency_ms: 500, state_mb: 2000 })).toBe(
      `has dead letters, takes longer than ${span(500)} for a result, holds more than 2,000 MB`,
    );
    expect(toldOf({ ...nothing, cores: 1.5 })).toBe("uses more than 1.5 cores");
    expect(toldOf({ ...nothing, letters_per_minute: 9 })).toBe("has more than 9 dead letters in a minute");
  });
});
