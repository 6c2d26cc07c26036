/**
 * The river of a plan: streams flow through shared steps into queries, each drawn once. Pure.
 *
 * By cores, what flows is work: every part adds what it costs, evenly for all that need it, so the river
 * widens on its way and a query's mouth is as wide as what falls on it. By tuples, what flows is tuples per
 * second of event time.
 */
import type { Costs } from "../../api/documents";
import type { PhysicalGraph } from "../physicalGraph";
import { type Folds, foldsOf } from "./folds";
import { inOrder, type Part, partsOf, type Rates, usersOf } from "./parts";

export const MEASURES = ["cores", "tuples"] as const;
export type Measure = (typeof MEASURES)[number];

export interface RiverNode {
  readonly key: string;
  readonly kind: Part["kind"];
  readonly label: string;
  readonly stream: string | null;
  /** The parts that are drawn here. */
  readonly parts: readonly string[];
  readonly queries: ReadonlySet<string>;
  /** Own cost, in the costs' unit; null if costs are not known. */
  readonly cost: number | null;
}

export interface RiverLink {
  readonly key: string;
  readonly source: string;
  readonly target: string;
  readonly value: number;
  readonly queries: ReadonlySet<string>;
  readonly strands: readonly Strand[];
}

export interface River {
  readonly nodes: readonly RiverNode[];
  readonly links: readonly RiverLink[];
  /** By part, all parts that depend on it, itself among them. */
  readonly behind: (part: string) => ReadonlySet<string>;
}

/** What flows from one part into another; what a store gives comes from what fills it. */
interface Strand {
  readonly from: string;
  readonly via: string | null;
  readonly to: string;
}

type Flows = ReadonlyMap<string, number>;

interface Wanted {
  readonly measure: Measure;
  /** Null until they are known: then nothing is as wide as anything else, by cores. */
  readonly costs: Costs | null;
  readonly rates: Rates;
  /** The team of each query, if queries are to be folded by it. */
  readonly teams?: ReadonlyMap<string, string> | null;
  /** Draw only what this query needs. */
  readonly query?: string | null;
}

export function riverOf(graph: PhysicalGraph, wanted: Wanted): River {
  const all = partsOf(graph, wanted.rates);
  const allUsers = usersOf(all);
  const chosen = wanted.query ?? null;
  const parts = new Map(
    [...all].filter(([id]) => {
      const users = allUsers.get(id);
      return users !== undefined && (chosen === null ? users.size > 0 : users.has(chosen));
    }),
  );
  const users =
    chosen === null ? allUsers : new Map([...parts.keys()].map((id) => [id, new Set([chosen])] as const));
  const folds = foldsOf(parts, graph, wanted.teams ?? null);
  const own = (part: Part): number | null => costOf(part, wanted.costs);
  const flows = wanted.measure === "cores" ? workFlows(parts, allUsers, own) : tupleFlows(parts);
  return {
    nodes: nodesOf(parts, users, folds, own),
    links: linksOf(parts, users, folds, flows, chosen),
    behind: reachOf(parts),
  };
}

function costOf(part: Part, costs: Costs | null): number | null {
  if (costs === null) return null;
  const found = { stream: costs.streams, query: costs.answers, store: costs.elements }[
    part.kind === "step" || part.kind === "hold" ? "store" : part.kind
  ];
  return found[part.priced] ?? 0;
}

function nodesOf(
  parts: ReadonlyMap<string, Part>,
  users: ReadonlyMap<string, ReadonlySet<string>>,
  folds: Folds,
  own: (part: Part) => number | null,
): RiverNode[] {
  const members = new Map<string, Part[]>();
  for (const part of parts.values()) {
    if (part.kind === "store") continue;
    const key = folds.keyOf(part);
    const known = members.get(key);
    if (known === undefined) members.set(key, [part]);
    else known.push(part);
  }
  return [...members].map(([key, drawn]): RiverNode => {
    const [first] = drawn;
    const costs = drawn.map(own);
    const streams = new Set(drawn.map(({ stream }) => stream));
    return {
      key,
      kind: first?.kind ?? "step",
      label: folds.labelOf(key, drawn),
      stream: streams.size === 1 ? (first?.stream ?? null) : null,
      parts: drawn.map(({ id }) => id),
      queries: new Set(drawn.flatMap(({ id }) => [...(users.get(id) ?? [])])),
      cost: costs.reduce<number | null>(
        (sum, cost) => (sum === null || cost === null ? null : sum + cost),
        0,
      ),
    };
  });
}

/** By query, what flows along a lead; the empty name stands for all queries. */
type FlowsOf = (from: string, to: string) => Flows;

const NONE: Flows = new Map();
const ALL = "";

/** What has been worked so far for each query, split evenly where its way divides. */
function workFlows(
  parts: ReadonlyMap<string, Part>,
  users: ReadonlyMap<string, ReadonlySet<string>>,
  own: (part: Part) => number | null,
): FlowsOf {
  const arrived = new Map<string, Map<string, number>>();
  const flows = new Map<string, Map<string, number>>();
  for (const part of inOrder(parts)) {
    const needing = users.get(part.id) ?? new Set();
    const share = (own(part) ?? 0) / Math.max(1, needing.size);
    const before = arrived.get(part.id) ?? NONE;
    const waysOf = waysFrom(part, parts, users);
    for (const query of needing) {
      const leads = waysOf.get(query) ?? [];
      const each = ((before.get(query) ?? 0) + share) / Math.max(1, leads.length);
      for (const to of leads) {
        add(arrived, to, query, each);
        add(flows, leadKey(part.id, to), query, each);
      }
    }
  }
  return (from, to) => flows.get(leadKey(from, to)) ?? NONE;
}

/** The parts by which a part leads to each query. */
function waysFrom(
  part: Part,
  parts: ReadonlyMap<string, Part>,
  users: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, readonly string[]> {
  const ways = new Map<string, string[]>();
  for (const { id } of leadsOf(part, parts))
    for (const query of users.get(id) ?? []) ways.set(query, [...(ways.get(query) ?? []), id]);
  return ways;
}

function tupleFlows(parts: ReadonlyMap<string, Part>): FlowsOf {
  const flows = new Map<string, Map<string, number>>();
  const kept = new Map<string, number>();
  for (const part of inOrder(parts)) {
    for (const { to, tuples } of part.next) {
      if (!parts.has(to)) continue;
      // A store gives to each place what comes into it, in equal parts, so that no tuple is drawn twice.
      const given = part.kind === "store" ? (kept.get(part.id) ?? 0) / part.next.length : (tuples ?? 0);
      add(flows, leadKey(part.id, to), ALL, given);
      kept.set(to, (kept.get(to) ?? 0) + given);
    }
  }
  return (from, to) => flows.get(leadKey(from, to)) ?? NONE;
}

function leadKey(from: string, to: string): string {
  return `${from}\n${to}`;
}

function add(sums: Map<string, Map<string, number>>, key: string, query: string, value: number): void {
  const known = sums.get(key) ?? new Map<string, number>();
  known.set(query, (known.get(query) ?? 0) + value);
  sums.set(key, known);
}

interface Growing {
  readonly source: string;
  readonly target: string;
  value: number;
  readonly queries: Set<string>;
  readonly strands: Strand[];
}

function linksOf(
  parts: ReadonlyMap<string, Part>,
  users: ReadonlyMap<string, ReadonlySet<string>>,
  folds: Folds,
  flows: FlowsOf,
  chosen: string | null,
): RiverLink[] {
  const links = new Map<string, Growing>();
  for (const [strand, value] of strandsOf(parts, flows, chosen)) {
    const [from, to] = [parts.get(strand.from), parts.get(strand.to)];
    if (from === undefined || to === undefined) continue;
    const [source, target] = [folds.keyOf(from), folds.keyOf(to)];
    const key = leadKey(source, target);
    const link = links.get(key) ?? { source, target, value: 0, queries: new Set<string>(), strands: [] };
    link.value += value;
    link.strands.push(strand);
    for (const query of users.get(strand.to) ?? []) link.queries.add(query);
    links.set(key, link);
  }
  return [...links].map(([key, link]) => ({ key, ...link }));
}

/** What flows from place to place: a store is none, what it gives comes from what fills it. */
function strandsOf(
  parts: ReadonlyMap<string, Part>,
  flows: FlowsOf,
  chosen: string | null,
): readonly (readonly [Strand, number])[] {
  const filling = fillersOf(parts);
  const given = (part: Part, to: string): [Strand, number][] => {
    const flow = flows(part.id, to);
    if (part.kind !== "store") return [[{ from: part.id, via: null, to }, sumOf(flow, chosen)]];
    const fillers = filling.get(part.id) ?? [];
    return fillers.map((from) => {
      const share = (query: string): number => shareOf(from, part.id, fillers, query, flows);
      return [{ from, via: part.id, to }, sumOf(flow, chosen, share)];
    });
  };
  return [...parts.values()].flatMap((part) =>
    leadsOf(part, parts)
      .filter(({ kind }) => kind !== "store")
      .flatMap(({ id }) => given(part, id)),
  );
}

/** The parts that a part leads to, each once. */
function leadsOf(part: Part, parts: ReadonlyMap<string, Part>): readonly Part[] {
  return [...new Set(part.next.map(({ to }) => to))].flatMap((to) => parts.get(to) ?? []);
}

/** The share of a store's contents that one of those that fill it has brought. */
function shareOf(
  from: string,
  store: string,
  fillers: readonly string[],
  query: string,
  flows: FlowsOf,
): number {
  const whole = fillers.reduce((sum, one) => sum + (flows(one, store).get(query) ?? 0), 0);
  return whole > 0 ? (flows(from, store).get(query) ?? 0) / whole : 1 / fillers.length;
}

function sumOf(flow: Flows, chosen: string | null, share: (query: string) => number = () => 1): number {
  let sum = 0;
  for (const [query, value] of flow)
    if (chosen === null || query === ALL || query === chosen) sum += value * share(query);
  return sum;
}

/** The parts that lead into each store. */
function fillersOf(parts: ReadonlyMap<string, Part>): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of parts.values())
    for (const { id, kind } of leadsOf(part, parts))
      if (kind === "store") found.set(id, [...(found.get(id) ?? []), part.id]);
  return found;
}

function reachOf(parts: ReadonlyMap<string, Part>): (part: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (start) => {
    const found = known.get(start);
    if (found !== undefined) return found;
    const reached = new Set([start]);
    for (const id of reached)
      for (const { to } of parts.get(id)?.next ?? []) if (parts.has(to)) reached.add(to);
    known.set(start, reached);
    return reached;
  };
}

/** What stays lit: a query's whole water, or everything that depends on a stream or step; null lights all. */
export function litLinks(river: River, key: string | null): ReadonlySet<string> | null {
  const node = river.nodes.find((one) => one.key === key);
  if (node === undefined) return null;
  if (node.kind === "query") {
    const lit = river.links.filter(({ queries }) => [...node.queries].some((query) => queries.has(query)));
    return new Set(lit.map((link) => link.key));
  }
  const reached = new Set(node.parts.flatMap((part) => [...river.behind(part)]));
  const depends = ({ from, via }: Strand): boolean => reached.has(from) || (via !== null && reached.has(via));
  return new Set(river.links.filter(({ strands }) => strands.some(depends)).map((link) => link.key));
}
