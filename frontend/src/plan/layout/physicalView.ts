/**
 * The physical graph as a picture: sources, stores and queries as boxes, edges as parallel lines.
 *
 * A probe's tuples leave from the store that it probed. The layered layout is ELK's, the lines
 * follow its routes. Columns run from sources to queries.
 */
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import { focusedKeys, forestOf } from "../forest";
import type { Edge, PhysicalGraph, Rule } from "../physicalGraph";

interface Box {
  readonly id: string;
  readonly kind: "source" | "store" | "query";
  readonly label: string;
  readonly detail: string;
  readonly stream: string | null;
}

interface Line {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly kind: Edge["kind"] | "emit";
}

export interface Boxes {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

export interface PlacedBoxes {
  readonly boxes: readonly (Box & { readonly x: number; readonly y: number })[];
  readonly lines: readonly (Line & { readonly points: readonly (readonly [number, number])[] })[];
  readonly width: number;
  readonly height: number;
}

export const BOX_WIDTH = 178;
export const BOX_HEIGHT = 40;

/** The box in which a rule works: what is due leaves the store of its hold, and is settled there. */
function place(graph: PhysicalGraph, rule: Rule): string {
  if (rule.kind === "source") return `source ${rule.input}`;
  if (rule.kind === "store" || rule.kind === "probe") return rule.store;
  return graph.holds.find((hold) => hold.name === rule.hold)?.store ?? rule.hold;
}

export function boxesOf(graph: PhysicalGraph): Boxes {
  const boxes = new Map<string, Box>();
  const rules = new Map(graph.rules.map((rule) => [rule.id, rule]));
  for (const rule of graph.rules) {
    if (rule.kind === "source")
      boxes.set(place(graph, rule), {
        id: place(graph, rule),
        kind: "source",
        label: rule.input,
        detail: "source",
        stream: rule.stream,
      });
  }
  for (const store of graph.stores) {
    const stream = store.inputs.length === 1 ? (store.inputs[0]?.stream ?? null) : null;
    boxes.set(store.id, {
      id: store.id,
      kind: "store",
      label: store.label,
      detail: `${store.tasks} ${store.tasks === 1 ? "task" : "tasks"}`,
      stream,
    });
  }
  for (const query of graph.queries)
    boxes.set(`query ${query.name}`, {
      id: `query ${query.name}`,
      kind: "query",
      label: query.name,
      detail: "query",
      stream: null,
    });
  const lines = graph.edges.flatMap((edge): Line[] => {
    const origin = rules.get(edge.origin);
    return origin === undefined
      ? []
      : [{ id: edge.id, from: place(graph, origin), to: edge.target, kind: edge.kind }];
  });
  const emits = graph.rules.flatMap((rule): Line[] =>
    rule.kind === "store"
      ? []
      : rule.emits
          .filter((emit) => graph.holds.every((hold) => hold.name !== emit.query))
          .map((emit) => ({
            id: `${rule.id}>${emit.query}`,
            from: place(graph, rule),
            to: `query ${emit.query}`,
            kind: "emit",
          })),
  );
  return { boxes: [...boxes.values()], lines: [...lines, ...emits] };
}

/** The boxes and lines that lead to a query's results, and how its stores are filled. */
export function boxesOfQuery(graph: PhysicalGraph, query: string): Boxes {
  const kept = focusedKeys(forestOf(graph), { query, store: null }) ?? new Set<string>();
  const probed = new Set(
    graph.rules.flatMap((rule) => (rule.kind === "probe" && kept.has(rule.id) ? [rule.store] : [])),
  );
  const edges = new Set(
    graph.rules.flatMap((rule) =>
      rule.kind !== "source" &&
      rule.kind !== "due" &&
      (rule.kind === "store" ? probed.has(rule.store) : kept.has(rule.id))
        ? [rule.edge]
        : [],
    ),
  );
  const whole = boxesOf(graph);
  const lines = whole.lines.filter((line) =>
    line.kind === "emit" ? line.to === `query ${query}` : edges.has(line.id),
  );
  const ends = new Set(lines.flatMap((line) => [line.from, line.to]));
  return { boxes: whole.boxes.filter((box) => ends.has(box.id)), lines };
}

/** ELK is large: it is loaded when somebody first looks at this view. */
export async function layoutBoxes({ boxes, lines }: Boxes): Promise<PlacedBoxes> {
  const { default: Elk } = await import("elkjs/lib/elk.bundled.js");
  const placed: ElkNode = await new Elk().layout({
    id: "plan",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.edgeRouting": "POLYLINE",
      "elk.layered.spacing.nodeNodeBetweenLayers": "70",
      "elk.spacing.nodeNode": "22",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.randomSeed": "1",
    },
    children: boxes.map(
      (box): ElkNode => ({
        id: box.id,
        width: BOX_WIDTH,
        height: BOX_HEIGHT,
        layoutOptions:
          box.kind === "store"
            ? {}
            : { "elk.layered.layering.layerConstraint": box.kind === "source" ? "FIRST" : "LAST" },
      }),
    ),
    edges: lines.map((line): ElkExtendedEdge => ({ id: line.id, sources: [line.from], targets: [line.to] })),
  });
  const at = new Map((placed.children ?? []).map((child) => [child.id, child]));
  const routes = new Map((placed.edges ?? []).map((edge) => [edge.id, edge.sections?.[0]]));
  return {
    boxes: boxes.map((box) => ({ ...box, x: at.get(box.id)?.x ?? 0, y: at.get(box.id)?.y ?? 0 })),
    lines: lines.map((line) => {
      const route = routes.get(line.id);
      const points =
        route === undefined ? [] : [route.startPoint, ...(route.bendPoints ?? []), route.endPoint];
      return { ...line, points: points.map((point) => [point.x, point.y] as const) };
    }),
    width: placed.width ?? 0,
    height: placed.height ?? 0,
  };
}
