// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the editor's snippets mark their fields like this
/**
 * What the editor offers at a place: streams, windows, columns of the aliases in scope, functions, clauses.
 */
import { SQL_FUNCTIONS, type SqlFunction } from "./functions";
import { clauseAt, type Source, sourcesOf } from "./scope";

export interface SchemaRelation {
  readonly name: string;
  readonly kind: "stream" | "query";
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface Offer {
  readonly label: string;
  readonly kind: "stream" | "query" | "column" | "alias" | "function" | "keyword" | "window";
  /** What is inserted; the label if absent. `${}` marks places to fill in. */
  readonly template?: string;
  readonly detail?: string;
  /** One line beside the list. */
  readonly help?: string;
  /** Higher comes first. */
  readonly boost?: number;
}

export interface Offers {
  readonly from: number;
  readonly offers: readonly Offer[];
}

const WINDOWS: readonly Offer[] = [
  {
    label: "[RANGE … MINUTES]",
    kind: "window",
    template: "[RANGE ${10} MINUTES] AS ${alias}",
    detail: "window, then alias",
    boost: 5,
  },
  {
    label: "[RANGE … HOUR]",
    kind: "window",
    template: "[RANGE ${1} HOUR] AS ${alias}",
    detail: "window, then alias",
    boost: 4,
  },
  {
    label: "('sliding', …)",
    kind: "window",
    template: "('sliding', '${10}', '${minutes}') AS ${alias}",
    detail: "window, then alias",
  },
];
const UNITS = ["SECONDS", "MINUTES", "HOURS", "DAYS", "SECOND", "MINUTE", "HOUR", "DAY"];
const CONNECTIVES = [
  "GROUP BY",
  "HAVING",
  "QUALIFY",
  "AND",
  "OR",
  "NOT",
  "BETWEEN",
  "IN",
  "IS NULL",
  "IS NOT NULL",
  "LIKE",
  "ILIKE",
  "CASE",
  "TRUE",
  "FALSE",
  "NULL",
  "INTERVAL",
];

const keyword = (label: string): Offer => ({ label, kind: "keyword", boost: -2 });

/** Aliases that a stream would naturally get: "weather" is w, or we when w is taken. */
function freshAlias(stream: string, taken: ReadonlySet<string>): string {
  for (let length = 1; length <= stream.length; length += 1) {
    const alias = stream.slice(0, length).toLowerCase();
    if (!taken.has(alias)) return alias;
  }
  return `${stream}_2`;
}

function columnsOf(source: Source, schema: readonly SchemaRelation[]): SchemaRelation["columns"] {
  return (
    schema.find((relation) => relation.name.toLowerCase() === source.stream.toLowerCase())?.columns ?? []
  );
}

/**
 * Offers at `position` of a half-written query; empty where nothing sensible can follow.
 *
 * `offersAt("SELECT d. FROM departures AS d", 9, schema)` has the columns of departures.
 */
export function offersAt(
  sql: string,
  position: number,
  schema: readonly SchemaRelation[],
  own: readonly SqlFunction[] = [],
): Offers {
  const place = clauseAt(sql, position);
  if (place.kind === "none") return { from: position, offers: [] };
  const sources = sourcesOf(sql);
  return { from: place.from, offers: offersFor(place, sources, schema, own) };
}

function offersFor(
  place: Exclude<ReturnType<typeof clauseAt>, { kind: "none" }>,
  sources: readonly Source[],
  schema: readonly SchemaRelation[],
  own: readonly SqlFunction[],
): Offer[] {
  const taken = new Set(sources.map((source) => source.alias));
  switch (place.kind) {
    case "start":
      return [
        {
          label: "SELECT",
          kind: "keyword",
          template: "SELECT ${*}\nFROM ${stream} [RANGE ${10} MINUTES] AS ${a}\nWHERE ${}",
          detail: "query",
        },
      ];
    case "column": {
      const source = sources.find((candidate) => candidate.alias.toLowerCase() === place.alias.toLowerCase());
      return source === undefined
        ? []
        : columnsOf(source, schema).map((column) => ({
            label: column.name,
            kind: "column",
            detail: column.type,
          }));
    }
    case "window":
      return [keyword("RANGE"), keyword("UNBOUNDED"), ...UNITS.map(keyword)];
    case "source":
      return schema.map((relation) => ({
        label: relation.name,
        kind: relation.kind,
        template:
          relation.kind === "stream"
            ? `${relation.name} [RANGE \${10} MINUTES] AS \${${freshAlias(relation.name, taken)}}`
            : `${relation.name} AS \${${freshAlias(relation.name, taken)}}`,
        detail: relation.kind === "stream" ? `${relation.columns.length} columns` : "query",
        boost: relation.kind === "stream" ? 1 : 0,
      }));
    case "after-source":
      return [
        ...WINDOWS,
        keyword("AS"),
        keyword("JOIN"),
        keyword("LEFT JOIN"),
        keyword("RIGHT JOIN"),
        keyword("FULL JOIN"),
        keyword("ASOF JOIN"),
        keyword("ASOF LEFT JOIN"),
        keyword("CROSS JOIN"),
        keyword("ON"),
        keyword("WHERE"),
        keyword("GROUP BY"),
      ];
    case "expression": {
      const columns = sources.flatMap((source) =>
        columnsOf(source, schema).map(
          (column): Offer => ({
            label: `${source.alias}.${column.name}`,
            kind: "column",
            detail: column.type,
            boost: 1,
          }),
        ),
      );
      const aliases = sources.map(
        (source): Offer => ({ label: source.alias, kind: "alias", detail: source.stream, boost: 2 }),
      );
      const functions = [...own, ...SQL_FUNCTIONS].map(
        (entry): Offer => ({
          label: entry.sql,
          kind: "function",
          template: `${entry.sql}(\${})`,
          detail: entry.signature,
          ...(entry.help === undefined ? {} : { help: entry.help }),
          boost: -1,
        }),
      );
      const words = place.clause === "select" ? ["AS", "FROM", "CASE", "NULL"] : CONNECTIVES;
      return [...aliases, ...columns, ...functions, ...words.map(keyword)];
    }
  }
}
