import { useMemo, useState } from "preact/hooks";
import { type Forest, focusedKeys, nodesOf, pruned } from "../../plan/forest";
import { everyTree, isFolded, UNCHOSEN, withTree } from "../../plan/layout/folding";
import { layoutForest, type PlacedForest } from "../../plan/layout/forestLayout";

/** The trees as they are laid out, and which of them are drawn as one row. */
export interface PlacedTrees {
  readonly placed: PlacedForest;
  readonly folded: ReadonlySet<string>;
  readonly toggle: (root: string) => void;
  readonly open: (root: string) => void;
  readonly foldAll: (folded: boolean) => void;
}

/** Above this, trees start as one row each and open on demand. */
const FOLD_ABOVE = 150;

/** @param found the nodes that a search found; null without a search */
export function usePlacedTrees(
  forest: Forest,
  query: string | null,
  found: readonly string[] | null,
): PlacedTrees {
  const [folding, setFolding] = useState(UNCHOSEN);
  const large = useMemo(() => new Set(nodesOf(forest).map((node) => node.key)).size > FOLD_ABOVE, [forest]);
  const folded = useMemo(
    () => new Set(forest.roots.map((root) => root.key).filter((key) => isFolded(folding, key, large))),
    [forest, folding, large],
  );
  const placed = useMemo(() => {
    const asked = found ?? (query === null ? null : focusedKeys(forest, { query, store: null }));
    if (!large || asked === null) return layoutForest(forest, folded);
    // A large plan shows only the trees that are asked for, opened as long as that stays readable.
    const trees = pruned(forest, new Set(asked));
    const closed = nodesOf(trees).length > FOLD_ABOVE ? trees.roots.map((root) => root.key) : [];
    return layoutForest(trees, new Set(closed));
  }, [forest, large, folded, found, query]);
  return {
    placed,
    folded,
    toggle: (root) => setFolding((before) => withTree(before, root, !isFolded(before, root, large))),
    open: (root) => setFolding((before) => withTree(before, root, false)),
    foldAll: (all) => setFolding(everyTree(all)),
  };
}
