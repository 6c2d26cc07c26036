// @vitest-environment jsdom
import { h, render } from "preact";
import { expect, it } from "vitest";
import type { Unregistered } from "../api/documents";
import { MissingTables } from "../conversion/MissingTables";
import { prefilledIn, prefillLink } from "./prefill";
import { faultsOf } from "./streamFields";

const ORIGIN = "https://millrace.example";
const filled = (name: string, columns: { name: string; type: string | null }[]) =>
  prefilledIn(new URL(prefillLink(ORIGIN, { name, columns })).hash);

it("fills in a name and columns, and leaves a type that is not known to be chosen", () => {
  const link = new URL(prefillLink(ORIGIN, { name: "Gates", columns: [{ name: "gäte", type: null }] }));
  expect(`${link.origin}${link.pathname}${link.search}`).toBe(`${ORIGIN}/streams/?register`);
  const fields = prefilledIn(link.hash);
  expect(fields).toMatchObject({
    name: "gates",
    eventTime: "at",
    columns: [
      { name: "at", type: "timestamp" },
      { name: "gäte", type: "" },
    ],
  });
  expect(fields && faultsOf(fields, [])).toEqual(["Choose the type of gäte."]);
});

it("takes the text's own event time where there is one to take", () => {
  const time = (name: string) => ({ name, type: "timestamp" });
  const key = { name: "k", type: "decimal(12,2)" };
  expect(filled("a", [key, time("since")])).toMatchObject({
    eventTime: "since",
    columns: [key, time("since")],
  });
  expect(filled("a", [time("at"), time("until")])?.eventTime).toBe("at");
  expect(filled("a", [time("since"), time("until")])?.columns).toHaveLength(3);
  expect(filled("a", [{ name: "at", type: "date" }])).toMatchObject({
    eventTime: "",
    columns: [{ name: "at", type: "date" }],
  });
});

it("takes nothing that is damaged, and no type that there is not", () => {
  const whole = new URL(prefillLink(ORIGIN, { name: "a", columns: [] })).hash;
  expect(prefilledIn("")).toBeNull();
  expect(prefilledIn(whole.slice(0, -3))).toBeNull();
  expect(prefilledIn(whole.replace("#stream=", "#draft="))).toBeNull();
  expect(filled("a".repeat(64), [])).toBeNull();
  expect(filled("a", [{ name: "k", type: "<script>" }])?.columns[1]).toEqual({ name: "k", type: "" });
});

it("lists the tables with a link to the form of each", () => {
  const missing: Unregistered = {
    tables: [
      {
        name: "gates",
        columns: [
          { name: "gate", type: "string" },
          { name: "n", type: null },
        ],
      },
      { name: "bags", columns: [] },
    ],
    undecided: ["weight"],
  };
  const host = document.createElement("div");
  render(h(MissingTables, { missing }), host);
  expect([...host.querySelectorAll("li")].map((item) => item.textContent)).toEqual([
    "Register gates gate string, n (type to be chosen)",
    "Register bags no column is known to be its own",
  ]);
  expect(
    prefilledIn(new URL(host.querySelector("a")?.href ?? "").hash)?.columns.map(({ name }) => name),
  ).toEqual(["at", "gate", "n"]);
  expect(host.textContent).toContain("the text does not say: weight");
});
