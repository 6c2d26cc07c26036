// @vitest-environment jsdom
import { h, render } from "preact";
import { expect, it } from "vitest";
import { AccountName, accountText } from "./AccountName";

function shown(isService: boolean): HTMLElement {
  const host = document.createElement("div");
  render(h(AccountName, { name: "loader", isService }), host);
  return host;
}

it("marks a service account beside its name", () => {
  expect(shown(true).textContent).toBe("loader service");
  expect(shown(true).querySelector(".service-mark")?.getAttribute("title")).toContain("not of a person");
  expect(accountText("loader", true)).toBe("loader (service)");
});

it("says a person's name alone", () => {
  expect(shown(false).textContent).toBe("loader");
  expect(accountText("ann", false)).toBe("ann");
});
