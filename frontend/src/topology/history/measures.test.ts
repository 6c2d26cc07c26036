import { describe, expect, it } from "vitest";
import type { HistoryPeriod, TopologyHistory } from "../../api/documents";
import { period as periodFrom } from "./__fixtures__/period";
import { placesOf, plotsOf } from "./measures";

const NOON = Date.parse("2026-11-26T12:00:00Z");
const iso = (minute: number): string => new Date(NOON + minute * 60_000).toISOString();
const period = (minute: number, changes: Partial<HistoryPeriod> = {}): HistoryPeriod =>
  periodFrom(iso(minute), { tuples_in: 120, cores: null, ...changes });
const history = (periods: HistoryPeriod[], to = 10): TopologyHistory => ({
  from: iso(0),
  to: iso(to),
  resolution: 60,
  since: iso(0),
  periods,
  switches: [{ at: iso(2), plan_id: "flights.2.abcdef0123", cause: "another rate" }],
});
const span = { from: NOON, to: NOON + 600_000 };

describe("a topology's past", () => {
  it("has a gap where no job was there, and none where one had nothing to do", () => {
    const idle = { tuples_in: 0, results: 0 };
    const [throughput] = plotsOf(history([period(0), period(1, idle), period(5)]), span);
    expect(throughput?.data.times.map((time) => (time.getTime() - NOON) / 60_000)).toEqual([0, 1, 2, 5]);
    expect(throughput?.data.series.map((one) => one.values)).toEqual([
      [2, 0, null, 2],
      [1, 0, null, 1],
    ]);
    expect(throughput?.data.title).toBe("Throughput: tuples in from 0/s to 2/s; results from 0/s to 1/s");
  });

  it("knows no rate of a minute that is not over, but what there was at its end", () => {
    const plots = plotsOf(history([period(0), period(1)], 1.5), span);
    const values = Object.fromEntries(plots.map(({ label, data }) => [label, data.series[0]?.values]));
    expect(values).toMatchObject({ Throughput: [2, null], State: [24, 24], "Dead letters": [0, null] });
    expect(values.Cores).toEqual([null, null]);
    expect(plots.find(({ label }) => label === "Cores")?.data.title).toBe("Cores: in use not known");
  });

  it("shows the same time and the same switches in every chart", () => {
    const plots = plotsOf(history([period(0)]), span);
    expect(plots.map(({ label }) => label)).toEqual([
      "Throughput",
      "Latency",
      "Backlog",
      "State",
      "Cores",
      "Dead letters",
    ]);
    for (const { data } of plots) {
      expect(data.span).toEqual([new Date(span.from), new Date(span.to)]);
      expect(data.rules?.map(({ label, title }) => [label, title])).toEqual([
        ["switch", "Plan switch at 12:02:00 UTC: plan flights.2.abcdef0123\nanother rate"],
      ]);
    }
  });

  it("leaves out what is not looked at", () => {
    const narrow = { from: NOON + 60_000, to: NOON + 120_000 };
    expect(placesOf(history([period(0), period(1), period(2), period(3)]), narrow)).toHaveLength(2);
  });
});
