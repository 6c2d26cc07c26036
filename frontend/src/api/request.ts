/** One way to call the backend: same origin, session cookie, CSRF token, typed refusals. */
import createClient from "openapi-fetch";
import type { Problem } from "./documents";
import { withExactIntegers } from "./exactIntegers";
import type { paths } from "./schema";

/** The backend said no. `problems` holds the domain's errors with their places, if it sent any. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly problems: readonly Problem[],
    message: string,
  ) {
    super(message);
  }
}

/** The backend did not answer at all. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

function csrfToken(): string {
  const match = /(?:^|; )csrftoken=([^;]*)/.exec(document.cookie);
  return match?.[1] === undefined ? "" : decodeURIComponent(match[1]);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Turn any answer that is not 2xx into one `Refusal`, whatever shape its body has. */
export function refusalFrom(status: number, body: unknown): Refusal {
  if (isRecord(body)) {
    if (Array.isArray(body.errors)) {
      const problems = body.errors as Problem[];
      return new Refusal(
        status,
        problems[0]?.code ?? null,
        problems,
        problems[0]?.message ?? "the input was refused",
      );
    }
    if (typeof body.detail === "string") {
      return new Refusal(status, typeof body.code === "string" ? body.code : null, [], body.detail);
    }
    if (Object.keys(body).length > 0) return new Refusal(status, null, [], said(body));
  }
  return new Refusal(status, null, [], `the server answered ${status}`);
}

/** The texts about fields, and about fields of fields, each with where it belongs. */
function said(texts: unknown): string {
  if (Array.isArray(texts)) return texts.map(said).join(" ");
  if (!isRecord(texts)) return String(texts);
  return Object.entries(texts)
    .map(([field, inner]) => `${field}: ${said(inner)}`)
    .join("; ");
}

/** The typed client of the backend's OpenAPI document. */
export const client = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  // Looked up at every call, so that a test can stand in for the network.
  fetch: (request) => globalThis.fetch(request),
});

client.use({
  onRequest({ request }) {
    if (request.method !== "GET") request.headers.set("X-CSRFToken", csrfToken());
    return request;
  },
  async onResponse({ response }) {
    if (response.headers.get("Content-Type") !== "application/json") return undefined;
    const text = await response.clone().text();
    const exact = withExactIntegers(text);
    const { status, statusText, headers } = response;
    return exact === text ? undefined : new Response(exact, { status, statusText, headers });
  },
  onError({ error }) {
    if (isAbort(error)) return undefined;
    return new Unreachable("the server cannot be reached; check that it is running and try again");
  },
});

type Texts<P> = { [K in keyof P]: string };

/** Where a call goes: what its path names, and its query. */
export function at<P extends object>(path: P): { params: { path: Texts<P> } };
export function at<P extends object, Q>(path: P, query: Q): { params: { path: Texts<P>; query: Q } };
export function at<P extends object>(path: P, query?: unknown): object {
  const texts = Object.entries(path).map(([name, value]) => [name, String(value)]);
  return { params: { path: Object.fromEntries(texts), query } };
}

/** What a call of `client` comes to. */
export interface Reply<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * The data of a call's answer; throws `Refusal` for one that is not 2xx. A lost session leads to the login
 * page.
 */
export async function answered<T>(call: Promise<Reply<T>>): Promise<T> {
  const reply = await call;
  if (reply.response.ok && reply.data !== undefined) return reply.data;
  throw refusalOf(reply);
}

/** Like `answered`, for an answer without a body. */
export async function done(call: Promise<Reply<unknown>>): Promise<void> {
  const reply = await call;
  if (!reply.response.ok) throw refusalOf(reply);
}

function refusalOf({ error, response }: Reply<unknown>): Refusal {
  const refusal = refusalFrom(response.status, error);
  if (response.status === 403 && /credentials/i.test(refusal.message)) {
    window.location.assign(`/login/?next=${encodeURIComponent(window.location.pathname)}`);
  }
  return refusal;
}

/** One line for a person about anything that was thrown. */
export function explainError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The same, a line for each thing that the server refuses. */
export function explainProblems(error: unknown): readonly string[] {
  return error instanceof Refusal && error.problems.length > 0
    ? error.problems.map((problem) => problem.message)
    : [explainError(error)];
}

/** True if a request was given up because a newer one replaced it. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
