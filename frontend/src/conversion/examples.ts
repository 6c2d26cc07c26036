/** Batch queries to begin with, over streams that are registered. Pure. */
import type { StreamDocument } from "../api/documents";

export interface Example {
  readonly title: string;
  readonly sql: string;
}

interface Written extends Example {
  /** The columns that it reads, by stream. */
  readonly needs: Readonly<Record<string, readonly string[]>>;
}

const OF_FLIGHTS: readonly Written[] = [
  {
    title: "Planes that came late and leave in strong wind",
    needs: {
      departures: ["flight", "tail", "origin"],
      arrivals: ["tail", "delay"],
      weather: ["airport", "wind_speed"],
    },
    sql: `SELECT t.flight, t.tail, w.wind_speed
FROM (
  SELECT d.flight, d.tail, d.origin
  FROM departures AS d JOIN arrivals AS a ON d.tail = a.tail
  WHERE a.delay > 30
) AS t
JOIN weather AS w ON t.origin = w.airport
WHERE w.wind_speed > 20`,
  },
  {
    title: "Late flights of busy carriers",
    needs: { departures: ["flight", "origin", "carrier", "delay"] },
    sql: `SELECT d.origin, d.carrier, busy.flights, COUNT(*) AS late
FROM departures AS d
JOIN (
  SELECT origin, carrier, COUNT(*) AS flights
  FROM departures
  GROUP BY origin, carrier
  HAVING COUNT(*) > 5
) AS busy ON busy.origin = d.origin AND busy.carrier = d.carrier
WHERE d.delay > 60
GROUP BY d.origin, d.carrier, busy.flights
ORDER BY late DESC`,
  },
  {
    title: "Planes that landed and did not leave",
    needs: { arrivals: ["flight", "tail", "dest"], departures: ["tail"] },
    sql: `SELECT a.flight, a.tail, a.dest
FROM arrivals AS a
WHERE a.tail IS NOT NULL
  AND NOT EXISTS (SELECT * FROM departures AS d WHERE d.tail = a.tail)`,
  },
];

/** Those of the demo where its streams are; else some over streams that have a column in common, or none. */
export function examplesOf(streams: readonly StreamDocument[]): readonly Example[] {
  const columns = new Map(streams.map((stream) => [stream.name, stream.columns.map(({ name }) => name)]));
  const written = OF_FLIGHTS.filter(({ needs }) =>
    Object.entries(needs).every(([stream, names]) =>
      names.every((name) => columns.get(stream)?.includes(name)),
    ),
  );
  return written.length > 0 ? written : overShared(streams);
}

function overShared(streams: readonly StreamDocument[]): readonly Example[] {
  const shared = sharedColumn(streams);
  if (shared === null) return [];
  const key = quoted(shared.column);
  const [first = "", second = "", third] = shared.streams.map(quoted);
  const joined = `${first} AS a JOIN ${second} AS b ON a.${key} = b.${key}`;
  const nested =
    third === undefined
      ? `SELECT t.${key}
FROM (SELECT ${key} FROM ${first} WHERE ${key} IS NOT NULL) AS t
JOIN ${second} AS b ON t.${key} = b.${key}`
      : `SELECT t.${key}
FROM (
  SELECT a.${key}
  FROM ${joined}
) AS t
JOIN ${third} AS c ON t.${key} = c.${key}`;
  return [
    { title: `Nested joins on ${shared.column}`, sql: nested },
    {
      title: `Matches by ${shared.column}`,
      sql: `SELECT a.${key}, COUNT(*) AS matches
FROM ${joined}
GROUP BY a.${key}
ORDER BY matches DESC, a.${key}
LIMIT 10`,
    },
    {
      title: `What has no partner with its ${shared.column}`,
      sql: `SELECT a.*
FROM ${first} AS a
WHERE NOT EXISTS (SELECT * FROM ${second} AS b WHERE b.${key} = a.${key})`,
    },
  ];
}

/** The column, of one type and no event time, that most streams have: at most three of them. */
function sharedColumn(
  streams: readonly StreamDocument[],
): { readonly column: string; readonly streams: readonly string[] } | null {
  const having = new Map<string, { column: string; streams: string[] }>();
  for (const stream of streams) {
    // Tables are looked up otherwise, and what joins late tuples has no part in what waits.
    if (stream.kind === "table" || stream.late === "join") continue;
    for (const { name, type } of stream.columns) {
      // Times and doubles are seldom equal on purpose.
      if (name === stream.event_time || type === "double" || type === "timestamp") continue;
      const key = `${type} ${name}`;
      const found = having.get(key) ?? { column: name, streams: [] };
      found.streams.push(stream.name);
      having.set(key, found);
    }
  }
  const [most] = [...having.values()].sort((one, other) => other.streams.length - one.streams.length);
  return most === undefined || most.streams.length < 2
    ? null
    : { column: most.column, streams: most.streams.slice(0, 3) };
}

/** Whatever a name is, also a keyword. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
