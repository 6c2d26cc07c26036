/**
 * The join graph of one query: aliases as nodes, predicates between them as edges.
 *
 * Read from the physical graph alone: every path to a leaf of the query checks all of its predicates, so
 * the first path found names them all. What is asked of held combinations stands in trees of its own.
 */
import {
  forceCenter,
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  type SimulationNodeDatum,
} from "d3";
import { expressionText, inputsOf } from "../expressionText";
import { type ForestNode, forestOf } from "../forest";
import type { Expression, PhysicalGraph } from "../physicalGraph";

interface JoinNode {
  readonly alias: string;
  readonly stream: string;
  readonly windowMs: number | null;
  readonly filters: readonly string[];
}

interface JoinEdge {
  /** The aliases that it connects, sorted; more than two for an n-ary predicate. */
  readonly aliases: readonly string[];
  readonly predicates: readonly string[];
  readonly equality: boolean;
  /** The kind of join, if it says what some results must not have, must have, or take the newest of. */
  readonly waits?: Waits;
}

type Waits = "outer, semi or anti join" | "as-of join";

export interface JoinGraph {
  readonly nodes: readonly JoinNode[];
  readonly edges: readonly JoinEdge[];
}

function pathTo(node: ForestNode, query: string): ForestNode[] | null {
  if (node.kind === "query") return node.label === query ? [node] : null;
  for (const child of node.children) {
    const rest = pathTo(child, query);
    if (rest !== null) return [node, ...rest];
  }
  return null;
}

function conditions(node: ForestNode): Expression[] {
  if (node.emit !== null) return node.emit.residuals;
  if (node.rule?.kind === "source") return node.rule.filter === null ? [] : [node.rule.filter];
  if (node.rule?.kind !== "probe") return [];
  const equalities = node.rule.equalities.map(
    ({ probe, stored }): Expression => ({
      kind: "call",
      function: "eq",
      arguments: [probe, stored],
      type: "boolean",
    }),
  );
  return [...equalities, ...node.rule.predicates];
}

function flat(node: ForestNode): ForestNode[] {
  return [node, ...node.children.flatMap(flat)];
}

/** The steps that look for partners of a query's held combinations. */
function lookingFor(roots: readonly ForestNode[], graph: PhysicalGraph, query: string): ForestNode[] {
  const holds = new Set(graph.holds.flatMap((hold) => (hold.query === query ? [hold.name] : [])));
  return roots.filter((root) => root.rule?.kind === "due" && holds.has(root.rule.hold)).flatMap(flat);
}

function waitsOf(node: ForestNode): Waits {
  const newest = node.rule?.kind === "probe" && node.rule.newest.length > 0;
  return newest ? "as-of join" : "outer, semi or anti join";
}

/** Equalities first: they carry the join. */
function rank(predicate: string): number {
  return / = /.test(predicate) ? 0 : 1;
}

function conjuncts(expression: Expression): Expression[] {
  return expression.kind === "call" && expression.function === "and"
    ? expression.arguments.flatMap(conjuncts)
    : [expression];
}

/** The join graph of the query of that name, or null if the plan does not answer it. */
export function joinGraphOf(graph: PhysicalGraph, queryName: string): JoinGraph | null {
  const query = graph.queries.find((candidate) => candidate.name === queryName);
  if (query === undefined) return null;
  const { roots } = forestOf(graph);
  const answering = roots.map((root) => pathTo(root, queryName)).find((found) => found !== null) ?? [];
  const inner = answering.flatMap(conditions).flatMap(conjuncts);
  const asked = lookingFor(roots, graph, queryName);
  const waiting = new Map(
    asked.flatMap((node) =>
      conditions(node)
        .flatMap(conjuncts)
        .map((one) => [one, waitsOf(node)] as const),
    ),
  );
  const labels = new Map(
    graph.streams.flatMap((one) => (one.derived === null ? [] : [[one.name, one.derived.label] as const])),
  );
  const aliasOf = new Map(query.inputs.map((input) => [input.input, input.alias]));
  const filters = new Map<string, Set<string>>();
  const edges = new Map<
    string,
    { aliases: string[]; predicates: Set<string>; equality: boolean; waits: Waits | null }
  >();
  for (const predicate of [...inner, ...waiting.keys()]) {
    const text = expressionText(predicate, (input) => aliasOf.get(input) ?? input);
    const aliases = inputsOf(predicate)
      .flatMap((input) => aliasOf.get(input) ?? [])
      .sort();
    const [only] = aliases;
    if (aliases.length === 1 && only !== undefined) {
      filters.set(only, (filters.get(only) ?? new Set()).add(text));
    } else if (aliases.length > 1) {
      const key = aliases.join(" ");
      const edge = edges.get(key) ?? {
        aliases,
        predicates: new Set<string>(),
        equality: false,
        waits: null,
      };
      edge.waits ??= waiting.get(predicate) ?? null;
      edge.predicates.add(text);
      edge.equality ||= predicate.kind === "call" && predicate.function === "eq";
      edges.set(key, edge);
    }
  }
  return {
    nodes: [...query.inputs]
      .sort((a, b) => a.alias.localeCompare(b.alias))
      .map((input) => ({
        alias: input.alias,
        stream: labels.get(input.stream) ?? input.stream,
        windowMs: input.window_us === null ? null : input.window_us / 1000,
        filters: [...(filters.get(input.alias) ?? [])].sort(),
      })),
    edges: [...edges.entries()]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([, edge]) => ({
        aliases: edge.aliases,
        predicates: [...edge.predicates].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)),
        equality: edge.equality,
        ...(edge.waits === null ? {} : { waits: edge.waits }),
      })),
  };
}

export interface PlacedJoinGraph {
  readonly nodes: readonly (JoinNode & { readonly x: number; readonly y: number })[];
  /** One per pair of aliases; an n-ary predicate connects all of its pairs. */
  readonly links: readonly {
    readonly key: string;
    readonly from: { readonly x: number; readonly y: number };
    readonly to: { readonly x: number; readonly y: number };
    readonly text: string;
    readonly equality: boolean;
    readonly nary: boolean;
    readonly waits: Waits | null;
  }[];
  readonly width: number;
  readonly height: number;
}

interface Body extends SimulationNodeDatum {
  alias: string;
}

const TICKS = 220;

/** Turn the picture so that its longest axis is horizontal, where there is room for the labels. */
function layDown(bodies: readonly Body[]): void {
  const [mx, my] = [
    bodies.reduce((sum, body) => sum + (body.x ?? 0), 0) / bodies.length,
    bodies.reduce((sum, body) => sum + (body.y ?? 0), 0) / bodies.length,
  ];
  let [xx, xy, yy] = [0, 0, 0];
  for (const body of bodies) {
    const [dx, dy] = [(body.x ?? 0) - mx, (body.y ?? 0) - my];
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  const angle = -0.5 * Math.atan2(2 * xy, xx - yy); // of the first principal axis
  for (const body of bodies) {
    const [dx, dy] = [(body.x ?? 0) - mx, (body.y ?? 0) - my];
    body.x = dx * Math.cos(angle) - dy * Math.sin(angle);
    body.y = dx * Math.sin(angle) + dy * Math.cos(angle);
  }
}

/** Place a join graph by forces from a circle; deterministic, and inside `width` by `height`. */
export function layoutJoinGraph(graph: JoinGraph, width: number, height: number): PlacedJoinGraph {
  const turn = (2 * Math.PI) / Math.max(1, graph.nodes.length);
  const bodies: Body[] = graph.nodes.map((node, i) => ({
    alias: node.alias,
    x: Math.cos(i * turn - Math.PI) * 60,
    y: Math.sin(i * turn - Math.PI) * 40,
  }));
  const pairs = graph.edges.flatMap((edge) =>
    edge.aliases.flatMap((from, i) => edge.aliases.slice(i + 1).map((to) => ({ edge, from, to }))),
  );
  forceSimulation(bodies)
    .force(
      "link",
      forceLink<Body, { source: string; target: string }>(
        pairs.map(({ from, to }) => ({ source: from, target: to })),
      )
        .id((body) => body.alias)
        .distance(120),
    )
    .force("apart", forceManyBody().strength(-420))
    .force("collide", forceCollide(46))
    .force("centre", forceCenter(0, 0))
    .stop()
    .tick(TICKS);
  layDown(bodies);
  const [padX, padY] = [52, 40];
  const xs = bodies.map((body) => body.x ?? 0);
  const ys = bodies.map((body) => body.y ?? 0);
  const fit = (value: number, values: number[], size: number, pad: number): number => {
    const least = Math.min(...values);
    const extent = Math.max(...values) - least;
    const scale = extent === 0 ? 0 : Math.min(1.4, (size - 2 * pad) / extent);
    return size / 2 + (value - least - extent / 2) * scale;
  };
  const places = new Map(
    bodies.map((body) => [
      body.alias,
      { x: fit(body.x ?? 0, xs, width, padX), y: fit(body.y ?? 0, ys, height, padY) },
    ]),
  );
  const place = (alias: string): { x: number; y: number } =>
    places.get(alias) ?? { x: width / 2, y: height / 2 };
  return {
    nodes: graph.nodes.map((node) => ({ ...node, ...place(node.alias) })),
    links: pairs.map(({ edge, from, to }) => ({
      key: `${edge.aliases.join(" ")}|${from}|${to}`,
      from: place(from),
      to: place(to),
      text: edge.predicates.join("\n"),
      equality: edge.equality,
      nary: edge.aliases.length > 2,
      waits: edge.waits ?? null,
    })),
    width,
    height,
  };
}
