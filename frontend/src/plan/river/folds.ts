/** Which parts are drawn as one place, so that a plan of any size can be read. Pure. */
import { plural } from "../../format/quantities";
import type { PhysicalGraph } from "../physicalGraph";
import type { Part } from "./parts";

/** Rows that one column can have and still be read. */
export const ROWS_MOST = 28;

export interface Folds {
  readonly keyOf: (part: Part) => string;
  readonly labelOf: (key: string, members: readonly Part[]) => string;
}

/**
 * Steps that meet at one store at one level are one place. Where a level has more than can be read, those at
 * stores of one stream are; queries are folded by team if teams are given, else by the streams that they
 * read, and where these are too many by the first of them.
 */
export function foldsOf(
  parts: ReadonlyMap<string, Part>,
  graph: PhysicalGraph,
  teams: ReadonlyMap<string, string> | null,
): Folds {
  const queries = queryGroups(parts, graph, teams);
  const crowded = crowdedLevels(parts);
  const keyOf = (part: Part): string => {
    if (part.kind === "query") return queries?.get(part.label) ?? part.place;
    const { level } = part;
    if (level === null || !crowded.has(level)) return part.place;
    return `${part.stream ?? "several streams"} at ${level}`;
  };
  return {
    keyOf,
    labelOf: (key, members) => {
      const [first] = members;
      if (first === undefined) return key;
      if (first.kind === "query") return first.place === key ? first.label : `${key} · ${members.length}`;
      const places = new Set(members.map(({ place }) => place)).size;
      if (places < 2) return first.label;
      return first.stream === null ? plural(places, "place") : `${first.stream} · ${plural(places, "store")}`;
    },
  };
}

function crowdedLevels(parts: ReadonlyMap<string, Part>): ReadonlySet<string> {
  const places = new Map<string, Set<string>>();
  for (const part of parts.values()) {
    const { level } = part;
    if (level === null) continue;
    places.set(level, (places.get(level) ?? new Set()).add(part.place));
  }
  return new Set([...places].filter(([, found]) => found.size > ROWS_MOST).map(([level]) => level));
}

function queryGroups(
  parts: ReadonlyMap<string, Part>,
  graph: PhysicalGraph,
  teams: ReadonlyMap<string, string> | null,
): ReadonlyMap<string, string> | null {
  const drawn = graph.queries.filter(({ name }) => parts.has(`query ${name}`));
  if (teams !== null) return new Map(drawn.map(({ name }) => [name, teams.get(name) ?? "no team"]));
  if (drawn.length <= ROWS_MOST) return null;
  const streams = (inputs: (typeof drawn)[number]["inputs"]): string[] =>
    [...new Set(inputs.map(({ stream }) => stream))].sort();
  const whole = new Map(drawn.map(({ name, inputs }) => [name, streams(inputs).join(", ")]));
  if (new Set(whole.values()).size <= ROWS_MOST) return whole;
  return new Map(drawn.map(({ name, inputs }) => [name, `${streams(inputs)[0] ?? "no stream"}, …`]));
}
