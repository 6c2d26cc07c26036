/**
 * Which trees are drawn as one row: what somebody chose for all of them, and for single ones after that.
 *
 * It names trees, not a plan: when another plan takes over, what was folded stays folded.
 */
export interface Folding {
  /** Null as long as nobody chose: then it depends on the plan's size. */
  readonly all: boolean | null;
  readonly single: ReadonlyMap<string, boolean>;
}

export const UNCHOSEN: Folding = { all: null, single: new Map() };

export function everyTree(folded: boolean): Folding {
  return { all: folded, single: new Map() };
}

/** @param usual whether a tree is folded that nobody chose anything for */
export function isFolded(folding: Folding, root: string, usual: boolean): boolean {
  return folding.single.get(root) ?? folding.all ?? usual;
}

export function withTree(folding: Folding, root: string, folded: boolean): Folding {
  return { ...folding, single: new Map([...folding.single, [root, folded]]) };
}
