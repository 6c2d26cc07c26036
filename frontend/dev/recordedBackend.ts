/**
 * `npm run dev` without a backend: answers the pages' calls from recorded documents.
 *
 * The documents lie under `src/__fixtures__` and `src/plan/__fixtures__`. Live events are made from the
 * recorded graph by a fixed sequence, so that two looks at a page show the same numbers. Development only:
 * nothing of this is part of a build.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { resolve } from "node:path";
import type { Plugin, ViteDevServer } from "vite";
import type { PhysicalGraph } from "../src/plan/physicalGraph";
import { recordedBatch, recordedHistory } from "./recordedBatches.ts";

const SOURCES = resolve(import.meta.dirname, "../src");
const ISLANDS: readonly [RegExp, string, string, (parts: string[]) => object][] = [
  [/^\/queries\/new\/$/, "editor", "New query", () => ({ queryId: null })],
  [/^\/queries\/(\d+)\/$/, "editor", "Query", ([, id]) => ({ queryId: Number(id) })],
  [/^\/queries\/$/, "catalog", "Queries", () => ({})],
  [/^\/topologies\/$/, "topology", "Topologies", () => ({ topology: null })],
  [/^\/topologies\/([^/]+)\/$/, "topology", "Topology", ([, name]) => ({ topology: name })],
  [/^\/streams\/$/, "streams", "Streams", () => ({})],
  [/^\/streams\/([^/]+)\/$/, "streams", "Stream", ([, name]) => ({ stream: name })],
  [/^\/jobs\/$/, "jobs", "Jobs", () => ({})],
];

type Json = Record<string, unknown>;

function read(path: string): unknown {
  return JSON.parse(readFileSync(resolve(SOURCES, path), "utf8"));
}

function page(title: string, island: string, props: object): string {
  const data = JSON.stringify({ ...props, me: { username: "demo", is_operator: true, is_staff: false } }).replaceAll('"', "&quot;");
  const links = ["Queries", "Topologies", "Streams", "Jobs"].map((name) => `<li><a href="/${name.toLowerCase()}/">${name}</a></li>`).join("");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>${title} · Millrace</title><script type="module" src="/src/main.ts"></script></head><body>
<nav class="rail" aria-label="Main"><a class="brand" href="/queries/">Millrace</a><ul>${links}</ul>
<form class="account"><span class="who">demo</span> <button class="button" type="button">Sign out</button></form></nav>
<header class="page-header"><h1>${title}</h1></header>
<main id="main"><div data-island="${island}" data-props="${data}"></div></main></body></html>`;
}

/** Tuples of a stream or results of a query: a few plausible rows for its columns. */
function rows(columns: readonly { name: string; type: string }[], amount: number): Json[] {
  const words = ["UA1545", "N14228", "EWR", "JFK", "LGA", "IAH", "N24211"];
  return Array.from({ length: amount }, (_, i) =>
    Object.fromEntries(
      columns.map(({ name, type }, j) => {
        if (type === "timestamp") return [name, new Date(Date.UTC(2013, 0, 1, 10, 59 - i)).toISOString()];
        if (type === "string") return [name, words[(i * 3 + j) % words.length]];
        return [name, (i + j) % 6 === 5 ? null : ((i * 7 + j * 13) % 61) - 3];
      }),
    ),
  );
}

async function body(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : (JSON.parse(text) as Json);
}

/** The recorded answer, or null if there is none for the call. */
function answer(method: string, path: string, sent: Json): unknown {
  const recorded = read("__fixtures__/documents.json") as Record<"streams" | "queries" | "topologies" | "runs" | "plan" | "explanation", unknown> & {
    streams: { name: string; columns: { name: string; type: string }[] }[];
    queries: { id: number; outputs: { name: string; type: string }[] }[];
    topologies: { name: string }[];
  };
  const graph = read("plan/__fixtures__/flights.graph.json") as PhysicalGraph;
  const [, , kind, key, action] = path.split("/");
  const sql = typeof sent["sql"] === "string" ? sent["sql"] : "";
  const misspelt = sql.indexOf("orign");
  switch (kind) {
    case "streams": {
      const stream = recorded.streams.find((entry) => entry.name === key);
      if (action === "sample" && stream !== undefined) return { columns: stream.columns, rows: rows(stream.columns, 12) };
      return stream ?? recorded.streams;
    }
    case "queries": {
      const query = recorded.queries.find((entry) => entry.id === Number(key));
      if (action === "results" && query !== undefined) return { columns: query.outputs, rows: rows(query.outputs, 9), ids: [..."abcdefghi"], batches: rows([], 9).map(() => 41) };
      if (action === "deploy") return { topology: "flights", revision: 12, query: "late-rotations", version: 3 };
      return method === "POST" && query === undefined ? { ...recorded.queries[0], ...sent, id: 1 } : (query ?? recorded.queries);
    }
    case "sql":
      if (key === "format") return { sql: sql.replace(/\s+(FROM|WHERE|AND)\b/gi, (_, word: string) => `\n${word.toUpperCase()}`) };
      if (key === "explain") return { ...(recorded.explanation as Json), graph };
      if (misspelt < 0) return { ok: true, errors: [], inputs: [{ alias: "d", stream: "departures", window_ms: 3_600_000 }], outputs: [{ name: "flight", type: "string" }] };
      {
        const lines = sql.slice(0, misspelt).split("\n");
        const column = (lines.at(-1) ?? "").length + 1;
        const problem = { code: "unknown-column", line: lines.length, column, end_column: column + 5, found: "column orign", expected: "a column of departures", suggestion: "origin", message: "" };
        return { ok: false, errors: [problem], inputs: [], outputs: [] };
      }
    case "topologies": {
      if (action === "graph") return { ...(recorded.plan as Json), graph };
      if (action === "snapshot") {
        return {
          last_event_id: "40-0", state: "running", error: null, run: "0193f5a1c0de4f2a", plan_id: "P-1f0c9a", epoch: 2, heartbeat_at: new Date().toISOString(),
          batch: recordedBatch(graph, 40), history: recordedHistory(graph, 40),
          switches: [{ at: new Date(Date.now() - 13_000).toISOString(), plan_id: "P-1f0c9a", epoch: 2, batch: 27, cause: "deploy of rotations-in-wind" }],
          queries: recorded.queries.map(({ id }) => ({ id, name: `q${id}`, version: 1 })),
        };
      }
      return key === undefined || key === "" ? recorded.topologies : recorded.topologies[0];
    }
    case "runs":
      return action === "log" ? { lines: Array.from({ length: 40 }, (_, i) => `2026-11-21 00:35:${String(i).padStart(2, "0")} INFO batch ${i}: 5000 tuples in, 12 results`), truncated: true } : recorded.runs;
    default:
      return null;
  }
}

function stream(response: ServerResponse): void {
  const graph = read("plan/__fixtures__/flights.graph.json") as PhysicalGraph;
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  let batch = 41;
  const timer = setInterval(() => {
    response.write(`id: ${batch}-0\nevent: batch\ndata: ${JSON.stringify(recordedBatch(graph, batch))}\n\n`);
    batch += 1;
  }, 500);
  response.on("close", () => clearInterval(timer));
}

export function recordedBackend(): Plugin {
  return {
    name: "recorded-backend",
    apply: "serve",
    configureServer(server: ViteDevServer) {
      server.middlewares.use((request, response, next) => {
        const path = (request.url ?? "/").split("?")[0] ?? "/";
        if (path === "/") {
          response.writeHead(302, { Location: "/queries/" }).end();
          return;
        }
        if (path.startsWith("/api/")) {
          if (path.endsWith("/events/")) {
            stream(response);
            return;
          }
          body(request).then(
            (sent) => {
              const found = answer(request.method ?? "GET", path, sent);
              response.writeHead(found === null ? 404 : 200, { "Content-Type": "application/json" });
              response.end(JSON.stringify(found ?? { detail: `nothing is recorded for ${path}` }));
            },
            (error: unknown) => next(error),
          );
          return;
        }
        for (const [pattern, island, title, props] of ISLANDS) {
          const match = pattern.exec(path);
          if (match === null) continue;
          server.transformIndexHtml(path, page(island === "topology" ? (match[1] ?? title) : title, island, props([...match]))).then(
            (html) => response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(html),
            (error: unknown) => next(error),
          );
          return;
        }
        next();
      });
    },
  };
}
