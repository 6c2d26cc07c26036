import { expect, it } from "vitest";
import { readsText } from "./reads";

it("says how long tuples are kept where conditions say less than the window", () => {
  const inputs = [
    { alias: "d", stream: "departures", window_ms: 7_200_000 },
    { alias: "w", stream: "weather", window_ms: null },
  ];
  const because = ["d.at < w.at + INTERVAL '1' HOUR"];
  expect(readsText({ inputs, retentions: [] })).toBe("departures as d (2 h), weather as w (unbounded)");
  expect(readsText({ inputs, retentions: [{ alias: "w", kept_ms: 3_600_000, because }] })).toBe(
    "departures as d (2 h), weather as w (unbounded, kept 1 h: d.at < w.at + INTERVAL '1' HOUR)",
  );
});
