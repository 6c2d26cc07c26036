/**
 * The probe trees of a plan: one tree per starting rule, equal prefixes already shared by the optimizer.
 *
 * A pure reading of the physical graph. A node is a rule (source, probe or feed of a materialized store) or
 * a query that a rule emits to; its key is the rule's plan id, so a node keeps its identity, and with it
 * its metrics, over every redrawing.
 */
import { expressionText } from "./expressionText";
import type { Edge, Emit, GraphStore, PhysicalGraph, ProbeRule, Rule } from "./physicalGraph";

export interface ForestNode {
  /** The rule's id; for a query `rule>query`. */
  readonly key: string;
  readonly kind: "source" | "probe" | "feed" | "query";
  readonly label: string;
  /** Decides the colour; null for queries and stores of several streams. */
  readonly stream: string | null;
  /** The stage in which it works; 0 for sources. Queries stand behind the deepest level. */
  readonly level: number;
  /** The edge along which its tuples arrive; null for sources and queries. */
  readonly edge: Edge | null;
  readonly store: GraphStore | null;
  readonly rule: Rule | null;
  readonly emit: Emit | null;
  /** The stores that keep the tuples of a source. */
  readonly keptIn: readonly GraphStore[];
  /** The queries that it contributes to, sorted. */
  readonly queries: readonly string[];
  readonly children: readonly ForestNode[];
}

export interface Forest {
  readonly roots: readonly ForestNode[];
  readonly depth: number;
}

/** The input of a store that keeps one stream's tuples; of an intermediate result there is none. */
function baseInput(store: GraphStore | null): GraphStore["inputs"][number] | undefined {
  return store?.inputs.length === 1 ? store.inputs[0] : undefined;
}

function queriesOf(children: readonly ForestNode[]): string[] {
  return [...new Set(children.flatMap((child) => child.queries))].sort();
}

/** Read the trees of a plan; roots in the order of their inputs, children in the order of the plan. */
export function forestOf(graph: PhysicalGraph): Forest {
  const edges = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const stores = new Map(graph.stores.map((store) => [store.id, store]));
  const receivers = new Map<string, Rule[]>();
  for (const rule of graph.rules) {
    // What a settle rule hears of partners leads nowhere by itself: it stands behind what is due.
    if (rule.kind === "source" || rule.kind === "due") continue;
    receivers.set(rule.edge, [...(receivers.get(rule.edge) ?? []), rule]);
  }
  const holds = new Map(graph.holds.map((hold) => [hold.name, hold]));
  const depth = Math.max(0, ...graph.edges.map((edge) => edge.level));

  const queryNode = (rule: Rule, emit: Emit): ForestNode => ({
    key: `${rule.id}>${emit.query}`,
    kind: "query",
    label: holds.get(emit.query)?.label ?? emit.query,
    stream: null,
    level: depth + 1,
    edge: null,
    store: null,
    rule: null,
    emit,
    keptIn: [],
    queries: [holds.get(emit.query)?.query ?? emit.query],
    children: [],
  });

  const below = (rule: Exclude<Rule, { kind: "store" }>, skipBase: boolean): ForestNode[] => [
    ...rule.out.flatMap((id) =>
      (receivers.get(id) ?? []).flatMap((next) => receiverNode(id, next, skipBase)),
    ),
    ...rule.emits.map((emit) => queryNode(rule, emit)),
  ];

  /** The store that a rule reads or fills, and what the rule is called. */
  const placeOf = (rule: Exclude<Rule, { kind: "source" | "due" }>): [GraphStore | null, string] => {
    if (rule.kind === "settle" || rule.kind === "aggregate")
      return [null, holds.get(rule.hold)?.label ?? rule.hold];
    const store = stores.get(rule.store) ?? null;
    return [store, store?.label ?? rule.store];
  };

  const receiverNode = (edgeId: string, rule: Rule, skipBase: boolean): ForestNode[] => {
    if (rule.kind === "source" || rule.kind === "due") return [];
    const [store, label] = placeOf(rule);
    const base = baseInput(store);
    if (rule.kind === "store" && skipBase && base !== undefined) return [];
    const edge = edges.get(edgeId) ?? null;
    const children = rule.kind === "store" ? [] : below(rule, false);
    const node: ForestNode = {
      key: rule.id,
      kind: rule.kind === "store" ? "feed" : "probe",
      label,
      stream: base?.stream ?? null,
      level: edge?.level ?? 0,
      edge,
      store,
      rule,
      emit: null,
      keptIn: [],
      queries: queriesOf(children),
      children,
    };
    return [node];
  };

  const roots = graph.rules.flatMap((rule): ForestNode[] => {
    if (rule.kind !== "source" && rule.kind !== "due") return [];
    const children = below(rule, true);
    const [label, stream] =
      rule.kind === "due"
        ? [`due: ${holds.get(rule.hold)?.label ?? rule.hold}`, null]
        : // Two trees may start from one stream; σ marks the one that starts from its filtered tuples only.
          [rule.filter === null ? rule.input : `σ ${rule.input}`, rule.stream];
    const keptIn = rule.out
      .flatMap((id) => receivers.get(id) ?? [])
      .flatMap((next) => (next.kind === "store" ? [stores.get(next.store)] : []))
      .filter((store): store is GraphStore => store !== undefined);
    return [
      {
        key: rule.id,
        kind: "source",
        label,
        stream,
        level: 0,
        edge: null,
        store: null,
        rule,
        emit: null,
        keptIn,
        queries: queriesOf(children),
        children,
      },
    ];
  });
  return { roots, depth };
}

/** Every node of the forest, parents before children. */
export function nodesOf(forest: Forest): ForestNode[] {
  const visit = (node: ForestNode): ForestNode[] => [node, ...node.children.flatMap(visit)];
  return forest.roots.flatMap(visit);
}

export interface Focus {
  readonly query: string | null;
  readonly store: string | null;
}

/**
 * The keys that stay in view: the paths of a query, or the paths that lead through a store.
 * Null when nothing is focused, that is when everything stays.
 */
export function focusedKeys(forest: Forest, focus: Focus): ReadonlySet<string> | null {
  if (focus.query === null && focus.store === null) return null;
  const kept = new Set<string>();
  const visit = (node: ForestNode, behindStore = false): boolean => {
    const wanted =
      focus.query !== null
        ? node.queries.includes(focus.query)
        : behindStore ||
          node.store?.id === focus.store ||
          node.keptIn.some((store) => store.id === focus.store);
    // What a probe of the store finds goes on to all that stands behind it; a source only fills the store.
    const further = focus.query === null && wanted && node.kind !== "source";
    const inChildren = node.children.map((child) => visit(child, further)).some(Boolean);
    if (wanted || inChildren) kept.add(node.key);
    return wanted || inChildren;
  };
  for (const root of forest.roots) visit(root);
  return kept;
}

/** The forest of these nodes and those on the way to them; trees without any are left out. */
export function pruned(forest: Forest, keys: ReadonlySet<string>): Forest {
  const visit = (node: ForestNode): ForestNode[] => {
    const children = node.children.flatMap(visit);
    return keys.has(node.key) || children.length > 0 ? [{ ...node, children }] : [];
  };
  return { ...forest, roots: forest.roots.flatMap(visit) };
}

/** What a probe checks, in SQL, one condition per entry. */
export function conditionsOf(rule: ProbeRule): string[] {
  return [
    ...rule.equalities.map(({ probe, stored }) => `${expressionText(probe)} = ${expressionText(stored)}`),
    ...rule.predicates.map((predicate) => expressionText(predicate)),
  ];
}

/** The probe orders of the plan as texts: "departures → arrivals[tailnum] → weather". */
export function probeOrders(forest: Forest): { start: ForestNode; steps: ForestNode[] }[] {
  const paths = (node: ForestNode): ForestNode[][] => {
    const next = node.children.filter((child) => child.kind === "probe");
    const ends = node.children.some((child) => child.kind === "query" || child.kind === "feed");
    const own = node.kind === "probe" ? [node] : [];
    const longer = next.flatMap(paths).map((path) => [...own, ...path]);
    return ends || next.length === 0 ? [own, ...longer] : longer;
  };
  return forest.roots.flatMap((start) =>
    paths(start)
      .filter((steps) => steps.length > 0)
      .map((steps) => ({ start, steps })),
  );
}
