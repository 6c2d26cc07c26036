/** Mounts every island that the page holds, and the two things that every page has: palette and theme. */
import "./style/index.css";
import { type ComponentType, h, render } from "preact";
import { type IslandProps, parseIslandProps } from "./shell/islandProps";
import { mountShell } from "./shell/mountShell";

/** Each island is its own chunk, so that a page loads only what it shows. */
const ISLANDS: Readonly<Record<string, () => Promise<ComponentType<IslandProps>>>> = {
  overview: async () => (await import("./overview/OverviewIsland")).OverviewIsland,
  editor: async () => (await import("./editor/EditorIsland")).EditorIsland,
  catalog: async () => (await import("./catalog/CatalogIsland")).CatalogIsland,
  conversion: async () => (await import("./conversion/ConversionIsland")).ConversionIsland,
  topology: async () => (await import("./topology/TopologyIsland")).TopologyIsland,
  streams: async () => (await import("./streams/StreamsIsland")).StreamsIsland,
  accounts: async () => (await import("./accounts/AccountsIsland")).AccountsIsland,
  teams: async () => (await import("./teams/TeamsIsland")).TeamsIsland,
  tokens: async () => (await import("./tokens/TokensIsland")).TokensIsland,
  audit: async () => (await import("./audit/AuditIsland")).AuditIsland,
  costs: async () => (await import("./costs/CostsIsland")).CostsIsland,
  alerts: async () => (await import("./alerts/AlertsIsland")).AlertsIsland,
  jobs: async () => (await import("./jobs/JobsIsland")).JobsIsland,
};

async function mount(element: HTMLElement): Promise<void> {
  const name = element.dataset.island ?? "";
  const load = ISLANDS[name];
  if (load === undefined)
    throw new Error(`no island is called ${name}; there are ${Object.keys(ISLANDS).join(", ")}`);
  const props: IslandProps = parseIslandProps(element.dataset.props ?? "{}");
  render(h(await load(), props), element);
}

const islands = [...document.querySelectorAll<HTMLElement>("[data-island]")];
const props = document.querySelector<HTMLElement>("[data-props]")?.dataset.props;
mountShell(parseIslandProps(props ?? "{}").me);
for (const element of islands) void mount(element);
