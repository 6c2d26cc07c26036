// @vitest-environment jsdom
import { h, render } from "preact";
import { describe, expect, it } from "vitest";
import type { TopologyDocument, WatchedTopology } from "../api/documents";
import { before, EQUAL, overview, point, watched } from "./__fixtures__/overview";
import { HealthLine } from "./HealthLine";
import { healthOf } from "./health";

const told = (news: Partial<WatchedTopology>, topology: Partial<TopologyDocument> = {}) =>
  healthOf(overview(watched(news, topology)));

const queries = (news: object) =>
  [
    { id: 7, name: "windy", version: 1, suspended: null, applied: null, pinned: null, ...news },
  ] as TopologyDocument["queries"];

describe("what is wrong", () => {
  it("finds nothing where all was checked", () => {
    expect(told({})).toEqual({ wrong: [], unknown: [] });
  });

  const run = { state: "failed", error: "out of memory" } as const;
  const failed_batch = { at: before(9), batch: 7, error: "ValueError: no", set_aside: {} };
  it.each<[string, Partial<WatchedTopology>, Partial<TopologyDocument>, string, string]>([
    ["a failed job", {}, run, "flights failed: out of memory", "/topologies/flights/?tab=Log"],
    ["one that never ran", {}, { ...run, run: null }, "flights failed: out", "/topologies/flights/"],
    ["a stopped job", {}, { state: "stopped" }, "nothing answers its 1 query", "/jobs/"],
    ["a job that waits for room", {}, { waiting: "2 of 2 jobs run" }, "waits: 2 of 2", "/jobs/"],
    ["a failed batch", { failed_batch }, {}, "Batch 7 of flights failed", "/topologies/flights/?tab=Log"],
    [
      "a batch that waits for a server",
      { waiting_batch: { at: before(9), batch: 8, reason: "the schema registry does not answer" } },
      {},
      "Batch 8 of flights waits: the schema registry does not answer",
      "/topologies/flights/?tab=Log",
    ],
    [
      "a batch beyond its limit",
      { given_up: { at: before(9), plan_id: "P", batch: 8 } },
      {},
      "Batch 8 of flights exceeded its limit",
      "/topologies/flights/",
    ],
    ["a silent job", { heartbeat_at: before(20) }, {}, "was not heard since 00:29:40 UTC", "/jobs/"],
    [
      "tuples that wait unread",
      { history: [point(1, 90), point(2, 2, { tuples_in: 0, backlog: 12 })] },
      {},
      "12 tuples wait for flights",
      "/topologies/flights/?tab=Batches",
    ],
    [
      "a job without a batch for a minute while tuples wait",
      { history: [point(1, 90, { backlog: 12 })] },
      {},
      "12 tuples wait for flights",
      "/topologies/flights/?tab=Batches",
    ],
    [
      "a suspended query",
      {},
      { queries: queries({ suspended: "needs 2 GB", correctness: EQUAL }) },
      "windy is suspended: needs 2 GB",
      "/queries/7/",
    ],
    [
      "wrong results",
      {},
      {
        queries: queries({
          correctness: { ...EQUAL, newest: { ...EQUAL.newest, verdict: "differs", missing: 2, extra: 1 } },
        }),
      },
      "windy gives wrong results: 2 missing, 1 extra",
      "/queries/7/",
    ],
    [
      "results that were wrong",
      {},
      { queries: queries({ correctness: { ...EQUAL, differed_at: before(60) } }) },
      "windy gave wrong results, found at 00:29:00 UTC",
      "/queries/7/",
    ],
  ])("tells of %s", (_, news, topology, text, href) => {
    const { wrong } = told(news, topology);
    expect(wrong).toHaveLength(1);
    expect(wrong[0]?.text).toContain(text);
    expect(wrong[0]?.href).toBe(href);
  });

  it("tells of a change without a plan while what ran before goes on", () => {
    const { deployment } = watched().topology;
    const { wrong } = told({}, { deployment: { ...deployment, state: "failed", error: "no such column" } });
    expect(wrong.map(({ text }) => text)).toEqual(["The last change of flights has no plan: no such column"]);
  });

  it("tells of dead letters by topology and stream", () => {
    const letters = [{ topology: "flights", stream: "r s", kept: 2, newest: before(60) }];
    const { wrong } = healthOf({ ...overview(watched()), dead_letters: letters });
    expect(wrong[0]?.text).toContain("flights turned 2 tuples of r s away");
    expect(wrong[0]?.href).toBe("/streams/r%20s/");
  });

  it("takes tuples that are being read for no fault", () => {
    expect(told({ history: [point(1, 9, { backlog: 500 })] }).wrong).toEqual([]);
  });

  it("asks nothing of a stopped topology without queries", () => {
    expect(told({}, { state: "stopped", queries: [] })).toEqual({ wrong: [], unknown: [] });
  });
});

describe("what is not known", () => {
  it.each<[string, Partial<WatchedTopology>, Partial<TopologyDocument>, string]>([
    ["a job that starts", {}, { state: "starting" }, "flights is starting"],
    ["a job without a batch", { history: [] }, {}, "has committed no batch yet"],
    ["a job that was never heard", { heartbeat_at: null }, {}, "was not heard yet"],
    ["lag", { history: [point(1, 2, { backlog: null })] }, {}, "How far flights is behind is not known"],
    [
      "unchecked queries",
      {},
      { queries: queries({ correctness: null }) },
      "1 query of flights is not checked",
    ],
  ])("is told of %s, and not called right", (_, news, topology, text) => {
    const { wrong, unknown } = told(news, topology);
    expect(wrong).toEqual([]);
    expect(unknown.map((finding) => finding.text).join()).toContain(text);
  });
});

describe("the line", () => {
  const shown = (health: ReturnType<typeof healthOf> | null, problem: string | null = null): HTMLElement => {
    const host = document.createElement("div");
    render(h(HealthLine, { health, problem, at: before(0) }), host);
    return host;
  };
  const status = (host: HTMLElement): string => host.querySelector("[role=status]")?.textContent ?? "";

  it("says that nothing is wrong only if all is known", () => {
    expect(status(shown(told({})))).toBe("✓ Nothing is wrong.");
    expect(status(shown(told({ history: [] })))).toContain("Not all is known yet: flights has committed no");
    expect(status(shown(null))).toBe("… Checking");
    expect(status(shown(told({}), "the server cannot be reached"))).toBe(
      "✕ Not known: the server cannot be reached",
    );
  });

  it("shows the first of several, and all on demand", () => {
    const host = shown(
      told({ heartbeat_at: before(20), failed_batch: null }, { waiting: "2 of 2 jobs run" }),
    );
    expect(status(host)).toContain("2 things are wrong: flights waits");
    expect(host.querySelectorAll("li a")).toHaveLength(2);
    expect(host.querySelector("summary")?.textContent).toBe("All 2");
  });
});
