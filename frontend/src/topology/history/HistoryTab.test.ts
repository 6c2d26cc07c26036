// @vitest-environment jsdom
import { h, render } from "preact";
import { beforeEach, expect, it, vi } from "vitest";
import type { TopologyHistory } from "../../api/documents";
import { period } from "./__fixtures__/period";
import { HistoryTab } from "./HistoryTab";

const DAY = 86_400_000;

let asked: URLSearchParams[];
let since: string | null;

/** A backend that has something of every stretch of time, or of none. */
function answer(request: Request): Promise<Response> {
  const parameters = new URL(request.url).searchParams;
  asked.push(parameters);
  const [from, to] = [parameters.get("from") ?? "", parameters.get("to") ?? ""];
  const document: TopologyHistory = {
    from,
    to,
    resolution: 600,
    since,
    periods:
      since === null ? [] : [0, 600_000].map((ms) => period(new Date(Date.parse(from) + ms).toISOString())),
    switches: [],
  };
  return Promise.resolve(Response.json(document));
}

/** From where to where the newest request asked, in days. */
function daysAsked(): number {
  const newest = asked.at(-1);
  return (Date.parse(newest?.get("to") ?? "") - Date.parse(newest?.get("from") ?? "")) / DAY;
}

async function opened(address = "", until: string | null = null): Promise<HTMLElement> {
  window.history.replaceState(null, "", `/topologies/flights/?tab=History${address}`);
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  render(h(HistoryTab, { name: "flights", until }), host);
  await vi.waitFor(() => expect(host.querySelector("section.history")).not.toBeNull());
  return host;
}

function button(host: HTMLElement, name: string): HTMLButtonElement {
  const found = [...host.querySelectorAll("button")].find((one) => one.textContent === name);
  if (found === undefined) throw new Error(`there is no button ${name}`);
  return found;
}

beforeEach(() => {
  asked = [];
  since = "2026-11-01T00:00:00Z";
  vi.stubGlobal("Request", withOrigin(globalThis.Request));
  vi.stubGlobal("fetch", answer);
});

/** The page's own addresses have no origin, which Node's requests want. */
function withOrigin(Plain: typeof Request): typeof Request {
  return class extends Plain {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(typeof input === "string" ? new URL(input, "http://localhost") : input, init);
    }
  };
}

it("ends at the moment that is looked back at", async () => {
  await opened("&past=week", "2026-11-08T12:00:00.000Z");
  expect(asked.at(-1)?.get("to")).toBe("2026-11-08T12:00:00.000Z");
  expect(daysAsked()).toBe(7);
});

it("shows the last day in six charts, and says since when there is something", async () => {
  const host = await opened();
  expect([...host.querySelectorAll("figcaption strong")].map((one) => one.textContent)).toEqual([
    "Throughput",
    "Latency",
    "Backlog",
    "State",
    "Cores",
    "Dead letters",
  ]);
  expect(host.textContent).toContain("10 min a point, times in UTC, kept since 2026-11-01 00:00:00");
  expect(button(host, "day").getAttribute("aria-pressed")).toBe("true");
  expect(daysAsked()).toBeCloseTo(1, 5);
});

it("remembers a longer time in the address", async () => {
  const host = await opened();
  button(host, "week").click();
  await vi.waitFor(() => expect(daysAsked()).toBeCloseTo(7, 5));
  expect(new URLSearchParams(window.location.search).get("past")).toBe("week");
  expect(new URLSearchParams(window.location.search).get("tab")).toBe("History");
});

it("zooms by its fields and its brush, and opens where the address says", async () => {
  const to = new Date(Math.floor(Date.now() / 60_000) * 60_000 - DAY);
  const from = new Date(to.getTime() - DAY);
  const text = (time: Date): string => time.toISOString().slice(0, 16);
  const host = await opened(`&past=week&from=${text(from)}Z&to=${text(to)}Z`);
  const fields = host.querySelectorAll<HTMLInputElement>('input[type="datetime-local"]');
  expect([...fields].map((field) => field.value)).toEqual([text(from), text(to)]);
  await vi.waitFor(() => expect(asked.map((one) => one.get("from"))).toContain(from.toISOString()));
  expect(button(host, "week").getAttribute("aria-pressed")).toBe("false");
  const later = text(new Date(from.getTime() + DAY / 2));
  const [first] = fields;
  if (first === undefined) throw new Error("there is no field");
  first.value = later;
  first.dispatchEvent(new Event("change", { bubbles: true }));
  await vi.waitFor(() => expect(daysAsked()).toBe(0.5));
  expect(new URLSearchParams(window.location.search).get("from")).toBe(`${later}Z`);
  host.querySelector(".time-brush")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  await vi.waitFor(() => expect(button(host, "week").getAttribute("aria-pressed")).toBe("true"));
  expect(new URLSearchParams(window.location.search).get("from")).toBeNull();
});

it("says from when on there will be something", async () => {
  since = null;
  const host = await opened();
  expect(host.querySelector(".empty")?.textContent).toContain("Nothing is kept of this topology yet.");
  expect(host.querySelector("figure")).toBeNull();
});
