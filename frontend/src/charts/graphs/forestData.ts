/** What the drawing of probe trees is made from. */
import type { StreamColour } from "../../colour/streams";
import type { PlacedForest, PlacedLink, PlacedNode } from "../../plan/layout/forestLayout";

export interface NodeText {
  /** Second line under the label, for example "est 120/s · 131/s". */
  readonly detail: string;
  /** Everything, for the title and for screen readers. */
  readonly title: string;
}

export interface ProbeForestData {
  readonly placed: PlacedForest;
  readonly colour: StreamColour;
  readonly text: (node: PlacedNode) => NodeText;
  /** Tuples per second along a link; null is unknown. */
  readonly flow: (link: PlacedLink) => number | null;
  /** Keys that stay in view; null keeps all. */
  readonly kept: ReadonlySet<string> | null;
  readonly selected: string | null;
  /** A node's fill; null is its own. */
  readonly fill: (key: string) => string | null;
  /** Nodes that the plan compared with does not have. */
  readonly added: ReadonlySet<string>;
  readonly onHover: (key: string | null) => void;
  readonly onSelect: (key: string) => void;
  /** A tree is to be drawn as one row, or opened again; `key` is its root's. */
  readonly onFold: (key: string) => void;
}
