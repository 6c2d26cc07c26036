/**
 * A plan as parts that lead to one another: streams, stores, steps, what waits, and queries. Pure.
 *
 * One part per rule, store, hold, stream and query. What a part leads to is what its tuples go to next; a
 * store leads to the steps that find them in it. So whoever a part can reach is who needs it.
 */
import type { GraphStore, PhysicalGraph, Rule } from "../physicalGraph";

export interface Part {
  readonly id: string;
  readonly kind: "stream" | "store" | "step" | "hold" | "query";
  readonly label: string;
  /** Decides the colour; null unless one stream's tuples are in it. */
  readonly stream: string | null;
  /** Where it is drawn: steps that meet at one store at one level are one place. */
  readonly place: string;
  /** How far it is: how often its tuples have waited, and the level; null for streams and queries. */
  readonly level: string | null;
  /** What it costs stands under this name or id (`Costs.elements`, `.streams`, `.answers`). */
  readonly priced: string;
  readonly next: readonly Lead[];
}

export interface Lead {
  readonly to: string;
  /** Tuples per second of event time; null is unknown, and what a store gives has no rate. */
  readonly tuples: number | null;
}

/** What is known of an edge or rule by its id, in tuples per second of event time. */
export type Rates = (id: string) => number | null;

export const streamPart = (name: string): string => `stream ${name}`;
export const queryPart = (name: string): string => `query ${name}`;
export const holdPart = (name: string): string => `hold ${name}`;

type Receiver = Exclude<Rule, { kind: "source" | "due" }>;

/** The edges on which a rule receives. */
function receivedOn(rule: Receiver): readonly string[] {
  if (rule.kind === "settle") return [rule.edge, ...rule.found.map(({ edge }) => edge)];
  return rule.kind === "aggregate" ? [rule.edge, ...rule.direct] : [rule.edge];
}

/** The parts of a plan by id, streams first and queries last. */
export function partsOf(graph: PhysicalGraph, rates: Rates): ReadonlyMap<string, Part> {
  const reading = readingOf(graph, rates);
  const parts = [
    ...graph.streams.map(({ name }) => streamPartOf(name, reading)),
    ...graph.stores.flatMap((store) => storePartOf(store, reading)),
    ...graph.holds.map((hold) => holdPartOf(hold, reading)),
    ...graph.rules.flatMap((rule) => stepPartOf(rule, reading)),
    ...graph.queries.map(({ name }): Part => {
      const id = queryPart(name);
      return { ...BARE, id, kind: "query", label: name, place: id, priced: name };
    }),
  ];
  return new Map(parts.map((part) => [part.id, part]));
}

const BARE = { stream: null, level: null, next: [] } as const;

type Hold = PhysicalGraph["holds"][number];
type Sender = Exclude<Rule, { kind: "store" }>;

/** What is looked up of a plan while its parts are read. */
interface Reading {
  readonly graph: PhysicalGraph;
  readonly stores: ReadonlyMap<string, GraphStore>;
  readonly holds: ReadonlyMap<string, Hold>;
  /** By the store of what waits, the hold's name. */
  readonly waiting: ReadonlyMap<string, string>;
  /** By store, the steps that look for partners in it. */
  readonly probes: ReadonlyMap<string, readonly string[]>;
  /** By rule, how often its tuples have waited; by rule, its level. */
  readonly stages: ReadonlyMap<string, number>;
  readonly levels: ReadonlyMap<string, number>;
  /** What a rule's tuples go to. */
  readonly after: (rule: Sender) => readonly Lead[];
}

function readingOf(graph: PhysicalGraph, rates: Rates): Reading {
  const holds = new Map(graph.holds.map((hold) => [hold.name, hold]));
  const waiting = new Map(graph.holds.map((hold) => [hold.store, hold.name]));
  const probes = new Map<string, string[]>();
  const receivers = new Map<string, Receiver[]>();
  for (const rule of graph.rules) {
    if (rule.kind === "source" || rule.kind === "due") continue;
    for (const edge of receivedOn(rule)) receivers.set(edge, [...(receivers.get(edge) ?? []), rule]);
    if (rule.kind === "probe") probes.set(rule.store, [...(probes.get(rule.store) ?? []), rule.id]);
  }
  const partOfStore = (store: string): string => {
    const hold = waiting.get(store);
    return hold === undefined ? store : holdPart(hold);
  };
  const receiving = (edge: string): Lead[] =>
    (receivers.get(edge) ?? []).map((next) => ({
      to: next.kind === "store" ? partOfStore(next.store) : next.id,
      tuples: rates(edge),
    }));
  return {
    graph,
    stores: new Map(graph.stores.map((store) => [store.id, store])),
    holds,
    waiting,
    probes,
    stages: stagesOf(graph),
    levels: new Map(graph.edges.map((edge) => [edge.id, edge.level])),
    after: (rule) => [
      ...rule.out.flatMap(receiving),
      ...rule.emits.map(({ query }) => ({
        to: holds.has(query) ? holdPart(query) : queryPart(query),
        tuples: rates(rule.id),
      })),
    ],
  };
}

function streamPartOf(name: string, { graph, after }: Reading): Part {
  const id = streamPart(name);
  const next = graph.rules.flatMap((rule) =>
    rule.kind === "source" && rule.stream === name ? after(rule) : [],
  );
  return { ...BARE, id, kind: "stream", label: name, stream: name, place: id, priced: name, next };
}

/** The stream of a store that keeps one stream's tuples. */
function streamOf(store: GraphStore | undefined): string | null {
  return store?.inputs.length === 1 ? (store.inputs[0]?.stream ?? null) : null;
}

function storePartOf(store: GraphStore, { waiting, probes }: Reading): Part[] {
  if (waiting.has(store.id)) return [];
  const { id, label } = store;
  const next = (probes.get(id) ?? []).map((to) => ({ to, tuples: null }));
  return [{ ...BARE, id, kind: "store", label, stream: streamOf(store), place: id, priced: id, next }];
}

function holdPartOf(hold: Hold, { graph, stages, probes, after }: Reading): Part {
  const due = graph.rules.filter((rule) => rule.kind === "due" && rule.hold === hold.name);
  // Of groups without an end nothing falls due: their states meet where they are kept.
  const running = graph.rules.filter((rule) => isRunningEnd(rule, [hold]));
  const id = holdPart(hold.name);
  return {
    id,
    kind: "hold",
    label: hold.label,
    stream: null,
    place: id,
    level: `${stages.get(due[0]?.id ?? "") ?? 1} waits`,
    priced: hold.store,
    next: [
      ...due.flatMap((rule) => (rule.kind === "due" ? after(rule) : [])),
      ...running.map((rule) => ({ to: rule.id, tuples: null })),
      ...(probes.get(hold.store) ?? []).map((to) => ({ to, tuples: null })),
    ],
  };
}

/** Whether a rule answers with groups without an end. */
function isRunningEnd(rule: Rule, holds: readonly Hold[]): boolean {
  if (rule.kind !== "aggregate") return false;
  return holds.some((hold) => hold.name === rule.hold && hold.groups?.running === true);
}

function stepPartOf(rule: Rule, reading: Reading): Part[] {
  if (rule.kind !== "probe" && rule.kind !== "settle" && rule.kind !== "aggregate") return [];
  const { id } = rule;
  const stage = reading.stages.get(id) ?? 0;
  const next = reading.after(rule);
  if (rule.kind !== "probe") {
    const label = reading.holds.get(rule.hold)?.label ?? id;
    const [place, level] = [`end ${rule.hold}`, `${stage} ends`];
    return [{ id, kind: "step", label, stream: null, place, level, priced: id, next }];
  }
  const store = reading.stores.get(rule.store);
  const level = `${stage}.${reading.levels.get(rule.edge) ?? 0}`;
  const place = `${rule.store} at ${level}`;
  const label = store?.label ?? rule.store;
  return [{ id, kind: "step", label, stream: streamOf(store), place, level, priced: id, next }];
}

/** How often tuples have waited before they come to a step: steps before and after it are not one place. */
function stagesOf(graph: PhysicalGraph): ReadonlyMap<string, number> {
  const rules = new Map(graph.rules.map((rule) => [rule.id, rule]));
  const origins = new Map(graph.edges.map((edge) => [edge.id, edge.origin]));
  const known = new Map<string, number>();
  const ofHold = (name: string): number => {
    const emitting = graph.rules.filter(
      (rule) => rule.kind !== "store" && rule.emits.some(({ query }) => query === name),
    );
    return Math.max(0, ...emitting.map(ofRule)) + 1;
  };
  const ofRule = (rule: Rule): number => {
    const found = known.get(rule.id);
    if (found !== undefined) return found;
    const before = rule.kind === "source" || rule.kind === "due" ? undefined : origins.get(rule.edge);
    const origin = before === undefined ? undefined : rules.get(before);
    const held = rule.kind === "due" || (rule.kind === "aggregate" && isRunningEnd(rule, graph.holds));
    const made = held ? ofHold(rule.hold) : origin === undefined ? 0 : ofRule(origin);
    known.set(rule.id, made);
    return made;
  };
  return new Map(graph.rules.map((rule) => [rule.id, ofRule(rule)]));
}

/** The queries that each part leads to, by part. */
export function usersOf(parts: ReadonlyMap<string, Part>): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, ReadonlySet<string>>();
  const visit = (part: Part): ReadonlySet<string> => {
    const found = known.get(part.id);
    if (found !== undefined) return found;
    const users = new Set<string>(part.kind === "query" ? [part.label] : []);
    known.set(part.id, users);
    for (const { to } of part.next) {
      const next = parts.get(to);
      if (next !== undefined) for (const query of visit(next)) users.add(query);
    }
    return users;
  };
  for (const part of parts.values()) visit(part);
  return known;
}

/** Parts before those that they lead to. */
export function inOrder(parts: ReadonlyMap<string, Part>): readonly Part[] {
  const done = new Set<string>();
  const order: Part[] = [];
  const visit = (part: Part): void => {
    if (done.has(part.id)) return;
    done.add(part.id);
    for (const { to } of part.next) {
      const next = parts.get(to);
      if (next !== undefined) visit(next);
    }
    order.push(part);
  };
  for (const part of parts.values()) visit(part);
  return order.reverse();
}
