/** What the palette does, beside leading to places. */
import type { TopologyDocument } from "../api/documents";
import { answered, at, client } from "../api/request";
import { topologyPage } from "./addresses";
import type { Entry } from "./match";
import { applyTheme, type Theme } from "./theme";

const THEMES: readonly [Theme, string][] = [
  ["light", "Light theme"],
  ["dark", "Dark theme"],
  ["system", "System theme"],
];

interface Known extends Pick<TopologyDocument, "name" | "state"> {
  readonly queries: readonly unknown[];
}

/** Actions on topologies: what interrupts answers is asked for where its consequences are told. */
export function topologyActions(topologies: readonly Known[]): Entry[] {
  return topologies.flatMap(({ name, state, queries }): Entry[] => {
    const page = topologyPage(name);
    const alive = state !== "stopped" && state !== "failed";
    const where = at({ name });
    const asked: Entry[] = [
      { kind: "action", name: `Stop ${name}…`, href: `${page}?ask=stop` },
      { kind: "action", name: `Restart ${name}…`, href: `${page}?ask=restart` },
    ];
    const begun: Entry = {
      kind: "action",
      name: `Start ${name}`,
      href: page,
      act: () => answered(client.POST("/api/topologies/{name}/start/", where)),
    };
    const planned: Entry = {
      kind: "action",
      name: `Re-optimize ${name}`,
      href: page,
      act: () => answered(client.POST("/api/topologies/{name}/optimize/", where)),
    };
    return [...(alive ? asked : [begun]), ...(queries.length > 0 ? [planned] : [])];
  });
}

/** Actions on what is one's own: the theme of this browser, and signing out. */
export function ownActions(): Entry[] {
  return [
    ...THEMES.map(
      ([theme, name]): Entry => ({
        kind: "action",
        name,
        href: null,
        act: () => Promise.resolve(applyTheme(theme)),
      }),
    ),
    {
      kind: "action",
      name: "Sign out",
      href: null,
      act: () => Promise.resolve(document.querySelector<HTMLFormElement>("form.account")?.requestSubmit()),
    },
  ];
}
