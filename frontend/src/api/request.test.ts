// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { answered, client, explainError, isAbort, Refusal, refusalFrom, Unreachable } from "./request";

const answer = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });

let seen: Request[] = [];
function network(reply: () => Promise<Response>): void {
  vi.stubGlobal("fetch", (request: Request) => {
    seen.push(request);
    return request.signal.aborted ? Promise.reject(new DOMException("given up", "AbortError")) : reply();
  });
}
beforeEach(() => {
  seen = [];
  // biome-ignore lint/suspicious/noDocumentCookie: what is tested reads it, and jsdom has no Cookie Store
  document.cookie = "csrftoken=t0ken";
});
afterEach(() => vi.unstubAllGlobals());

it("sends the CSRF token with writing calls only", async () => {
  network(async () => answer(200, []));
  await answered(client.GET("/api/streams/"));
  network(async () => answer(201, { id: 1 }));
  await answered(
    client.POST("/api/queries/", { body: { name: "q", sql: "SELECT 1", description: "", tags: [] } }),
  );
  expect(seen.map((request) => request.headers.get("X-CSRFToken"))).toEqual([null, "t0ken"]);
  expect(new URL(seen[1]?.url ?? "").pathname).toBe("/api/queries/");
});

it("turns every shape of refusal into one error", () => {
  const problem = {
    code: "unknown-column",
    line: 3,
    column: 8,
    end_column: 15,
    path: null,
    found: "x",
    expected: "y",
    suggestion: null,
    message: "query:3:8: found x, expected y",
  };
  expect(refusalFrom(400, { errors: [problem] })).toMatchObject({
    status: 400,
    code: "unknown-column",
    problems: [problem],
    message: problem.message,
  });
  expect(refusalFrom(409, { code: "stream-in-use", detail: "in use" })).toMatchObject({
    code: "stream-in-use",
    message: "in use",
  });
  expect(refusalFrom(400, { name: ["This field is required."] }).message).toBe(
    "name: This field is required.",
  );
  expect(refusalFrom(500, null).message).toBe("the server answered 500");
});

it("throws a refusal with its status, and says when nobody answers", async () => {
  network(async () => answer(409, { code: "x", detail: "taken" }));
  await expect(answered(client.GET("/api/streams/"))).rejects.toMatchObject({ name: "Refusal", status: 409 });
  network(async () => Promise.reject(new TypeError("Failed to fetch")));
  const error: unknown = await answered(client.GET("/api/streams/")).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Unreachable);
  expect(explainError(error)).toMatch(/cannot be reached/);
  expect(error).not.toBeInstanceOf(Refusal);
});

it("keeps an abort an abort", async () => {
  network(async () => answer(200, {}));
  const control = new AbortController();
  control.abort();
  const error: unknown = await answered(
    client.POST("/api/sql/validate/", { body: { sql: "SELECT 1", name: "" }, signal: control.signal }),
  ).catch((reason: unknown) => reason);
  expect(isAbort(error)).toBe(true);
});
