/** One way to call the backend: same origin, session cookie, CSRF token, typed refusals. */
import type { Problem } from "./documents";

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
    if (Array.isArray(body["errors"])) {
      const problems = body["errors"] as Problem[];
      return new Refusal(status, problems[0]?.code ?? null, problems, problems[0]?.message ?? "the input was refused");
    }
    if (typeof body["detail"] === "string") {
      return new Refusal(status, typeof body["code"] === "string" ? body["code"] : null, [], body["detail"]);
    }
    const fields = Object.entries(body).map(([field, texts]) => `${field}: ${[texts].flat().join(" ")}`);
    if (fields.length > 0) return new Refusal(status, null, [], fields.join("; "));
  }
  return new Refusal(status, null, [], `the server answered ${status}`);
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * Send one request and return the answer's JSON as `T`.
 *
 * Throws `Refusal` for an answer that is not 2xx, `Unreachable` when there is none, and the signal's
 * `AbortError` when the caller gave up. A lost session leads to the login page.
 */
export async function request<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable("the server cannot be reached; this page tries again by itself");
  }
  const text = await response.text();
  const json = response.headers.get("Content-Type")?.includes("json") === true && text !== "";
  const answer: unknown = json ? JSON.parse(text) : null;
  if (response.ok) return answer as T;
  const refusal = refusalFrom(response.status, answer);
  if (response.status === 403 && /credentials/i.test(refusal.message)) {
    window.location.assign(`/login/?next=${encodeURIComponent(window.location.pathname)}`);
  }
  throw refusal;
}

/** One line for a person about anything that was thrown. */
export function explainError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True if a request was given up because a newer one replaced it. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
