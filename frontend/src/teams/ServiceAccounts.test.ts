// @vitest-environment jsdom
import { h, render } from "preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { NewToken, ServiceAccount, StreamDocument, Team, Token } from "../api/documents";
import { ServiceAccounts } from "./ServiceAccounts";

const MADE = "2026-01-01T00:00:00Z";
const SECRET = "millrace_shown-once";
const team: Team = {
  id: 3,
  name: "airside",
  private: null,
  is_private: false,
  members: ["ann"],
  service_accounts: [],
  can_edit: true,
  max_state_tuples: null,
  max_tuple_rate: null,
  max_state_bytes: null,
  max_result_rate: null,
};

/** A server in the place of the network: what it has, and what it was asked to change. */
interface Server {
  accounts: ServiceAccount[];
  tokens: Token[];
  /** Method, path and body of what was no reading. */
  readonly asked: string[];
  refusal: { status: number; body: object } | null;
}

let server: Server;
let host: HTMLElement;

beforeEach(() => {
  server = { accounts: [], tokens: [], asked: [], refusal: null };
  host = document.createElement("div");
  document.body.append(host);
  // Not in jsdom.
  HTMLDialogElement.prototype.showModal = function showModal(): void {
    this.open = true;
  };
  vi.stubGlobal("fetch", async (request: Request) => answerTo(request, await request.text()));
});

afterEach(() => {
  render(null, host);
  host.remove();
  vi.unstubAllGlobals();
});

function answerTo(request: Request, body: string): Response {
  const path = new URL(request.url).pathname;
  if (request.method === "GET") return Response.json(read(path));
  server.asked.push(`${request.method} ${path} ${body}`.trim());
  if (server.refusal !== null) {
    return Response.json(server.refusal.body, { status: server.refusal.status });
  }
  if (path.endsWith("/tokens/")) return Response.json(newToken(body), { status: 201 });
  if (request.method === "DELETE") {
    if (path.includes("/tokens/")) server.tokens = [];
    else server.accounts = [];
    return new Response(null, { status: 204 });
  }
  if (request.method === "PUT") {
    const [first] = server.accounts;
    if (first !== undefined) server.accounts = [{ ...first, ...JSON.parse(body) }];
    return Response.json(server.accounts[0]);
  }
  server.accounts = [account(JSON.parse(body).name)];
  return Response.json(server.accounts[0], { status: 201 });
}

function read(path: string): object {
  if (path === "/api/streams/") return STREAMS;
  if (path.endsWith("/tokens/")) return server.tokens;
  if (path === "/api/teams/3/service-accounts/") return server.accounts;
  throw new Error(`no such address: ${path}`);
}

const STREAMS = [
  { name: "weather", owner: "ann", team: "airside" },
  { name: "gates", owner: "loader", team: null },
  { name: "notes", owner: "ann", team: null },
] as StreamDocument[];

const account = (name: string): ServiceAccount => ({ id: 7, name, enabled: true, created_at: MADE });

function newToken(body: string): NewToken {
  const token = { id: 9, created_at: MADE, expires_at: null, used_at: null, ...JSON.parse(body) } as Token;
  server.tokens = [token];
  return { ...token, secret: SECRET };
}

async function shown(of: Team = team): Promise<void> {
  render(h(ServiceAccounts, { team: of }), host);
  await vi.waitFor(() => expect(host.querySelector(".empty, table")).not.toBeNull());
}

function button(label: string): HTMLButtonElement {
  const all = [...host.querySelectorAll("button")];
  const found = all.find((one) => (one.getAttribute("aria-label") ?? one.textContent) === label);
  if (found === undefined) throw new Error(`no button ${label} in ${host.innerHTML}`);
  return found;
}

function type(form: string, text: string): HTMLFormElement {
  const found = host.querySelector<HTMLFormElement>(`form[aria-label="${form}"]`);
  const field = found?.querySelector("input");
  if (!found || !field) throw new Error(`no form ${form}`);
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return found;
}

const says = (text: string) => vi.waitFor(() => expect(host.textContent).toContain(text));

it("says what one is for while there is none", async () => {
  await shown();
  expect(host.querySelector(".empty")?.textContent).toContain("a program that acts for the team");
});

it("offers members nothing but the list", async () => {
  await shown({ ...team, can_edit: false });
  expect(host.textContent).toContain("Admins make them.");
  server.accounts = [account("loader")];
  render(null, host);
  await shown({ ...team, can_edit: false });
  expect(host.textContent).toContain("loader");
  expect(host.querySelectorAll("button, form, input")).toHaveLength(0);
});

it("makes one by its name", async () => {
  await shown();
  expect(button("Make a service account").disabled).toBe(true);
  const form = type("Make a service account of airside", " loader ");
  await vi.waitFor(() => expect(button("Make a service account").disabled).toBe(false));
  form.requestSubmit();
  await vi.waitFor(() => button("Tokens of loader"));
  expect(server.asked).toEqual(['POST /api/teams/3/service-accounts/ {"name":"loader"}']);
  expect(form.querySelector("input")?.value).toBe("");
});

it("says why one is refused, and keeps what was typed", async () => {
  await shown();
  server.refusal = { status: 409, body: { code: "name-taken", detail: "there is an account ann already" } };
  const form = type("Make a service account of airside", "ann");
  await vi.waitFor(() => expect(button("Make a service account").disabled).toBe(false));
  form.requestSubmit();
  await says("there is an account ann already");
  expect(form.querySelector("input")?.value).toBe("ann");
});

it("disables and enables", async () => {
  server.accounts = [account("loader")];
  await shown();
  button("Disable loader").click();
  await says("disabled: its tokens do not count");
  button("Tokens of loader").click();
  await says("loader has no token yet.");
  expect(host.querySelector('form[aria-label="Make a token of loader"]')).toBeNull();
  button("Enable loader").click();
  await vi.waitFor(() => button("Disable loader"));
  expect(server.asked.map((one) => one.split(" ").at(-1))).toEqual(['{"enabled":false}', '{"enabled":true}']);
});

it("shows a token's secret once, and revokes it", async () => {
  server.accounts = [account("loader")];
  await shown();
  button("Tokens of loader").click();
  await says("only send tuples to gates");
  expect(host.textContent).toContain("only send tuples to weather");
  expect(host.textContent).not.toContain("notes");
  const form = type("Make a token of loader", "nightly");
  await vi.waitFor(() => expect(button("Make a token").disabled).toBe(false));
  form.requestSubmit();
  await says(SECRET);
  await vi.waitFor(() => button("Revoke nightly"));
  button("Tokens of loader").click();
  await vi.waitFor(() => expect(host.textContent).not.toContain("Revoke"));
  button("Tokens of loader").click();
  await vi.waitFor(() => button("Revoke nightly"));
  expect(host.textContent).not.toContain(SECRET);
  button("Revoke nightly").click();
  await says("loader has no token yet.");
  expect(server.asked).toEqual([
    'POST /api/teams/3/service-accounts/7/tokens/ {"name":"nightly","stream":null}',
    "DELETE /api/teams/3/service-accounts/7/tokens/9/",
  ]);
});

it("asks before it deletes, and says why it is refused", async () => {
  server.accounts = [account("loader")];
  await shown();
  button("Delete loader").click();
  await says("Delete loader?");
  expect(server.asked).toEqual([]);
  server.refusal = { status: 409, body: { code: "owns-something", detail: "loader owns or wrote late" } };
  button("Delete").click();
  await says("loader owns or wrote late");
  server.refusal = null;
  button("Delete loader").click();
  await says("Delete loader?");
  button("Delete").click();
  await says("airside has no service account.");
});
