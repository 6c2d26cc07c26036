import { useEffect, useMemo, useState } from "preact/hooks";
import type { Focus, ForestNode } from "../../plan/forest";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { useAddress } from "../../ui/useAddress";

/** What is looked at in the trees: by the pointer, by a choice, or by the page's address. */
export interface TreeChoice {
  readonly query: string | null;
  readonly chooseQuery: (name: string | null) => void;
  readonly selected: string | null;
  /** Choosing what is chosen already takes the choice back. */
  readonly select: (key: string) => void;
  readonly hover: (key: string | null) => void;
  /** The node and the store whose details stand beside the trees. */
  readonly node: ForestNode | null;
  readonly store: string | null;
  /** Whose paths stay in view. */
  readonly focus: Focus;
}

function hashKey(): string | null {
  const key = decodeURIComponent(window.location.hash.slice(1));
  return key === "" ? null : key;
}

export function useTreeChoice(graph: PhysicalGraph, nodes: ReadonlyMap<string, ForestNode>): TreeChoice {
  const [selected, setSelected] = useState<string | null>(hashKey);
  const [hovered, hover] = useState<string | null>(null);
  const [asked, chooseQuery] = useAddress("query");
  useEffect(() => {
    const onHash = (): void => setSelected(hashKey());
    window.addEventListener("hashchange", onHash);
    return () => window.removeEventListener("hashchange", onHash);
  }, []);
  const query = graph.queries.some((entry) => entry.name === asked) ? asked : null;
  // A link of the palette names a store and not a node.
  const store = graph.stores.find(({ id }) => id === selected && !nodes.has(id))?.id ?? null;
  const node = nodes.get(hovered ?? selected ?? "") ?? null;
  const focus = useMemo((): Focus => {
    if (query !== null) return { query, store: null };
    if (node?.kind === "query") return { query: node.label, store: null };
    if (hovered !== null && node !== null && node.store !== null)
      return { query: null, store: node.store.id };
    return { query: null, store };
  }, [query, node, hovered, store]);
  const select = (key: string): void => {
    const next = key === selected ? null : key;
    setSelected(next);
    window.history.replaceState(
      null,
      "",
      next === null ? `${window.location.pathname}${window.location.search}` : `#${encodeURIComponent(next)}`,
    );
  };
  return { query, chooseQuery, selected, select, hover, node, store, focus };
}
