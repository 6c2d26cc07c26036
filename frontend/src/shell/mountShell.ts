/** The parts of every page that belong to no island: theme, command palette, current entry of the rail. */
import { h, render } from "preact";
import { CommandPalette } from "./CommandPalette";
import type { IslandProps } from "./islandProps";
import { ThemeToggle } from "./ThemeToggle";
import { applyTheme, chosenTheme } from "./theme";

function place(selector: string, id: string): HTMLElement {
  const host = document.createElement("div");
  host.id = id;
  (document.querySelector(selector) ?? document.body).append(host);
  return host;
}

function markCurrentPage(): void {
  const here = window.location.pathname;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav.rail a[href]:not(.brand)")) {
    const path = new URL(link.href).pathname;
    if (path !== "/" && here.startsWith(path) && !link.hasAttribute("aria-current"))
      link.setAttribute("aria-current", "page");
  }
  // On a narrow screen the rail is a row that may be longer than the screen.
  document
    .querySelector("nav.rail [aria-current='page']")
    ?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** @param me who is signed in */
export function mountShell(me: IslandProps["me"]): void {
  applyTheme(chosenTheme());
  markCurrentPage();
  if (document.querySelector("nav.rail") === null) return;
  render(h(ThemeToggle, {}), place("nav.rail", "theme-toggle"));
  render(h(CommandPalette, { role: me.role }), place("body", "command-palette"));
}
