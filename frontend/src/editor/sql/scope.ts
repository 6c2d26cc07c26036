/**
 * What a half-written query means around the cursor: its aliases and the clause.
 *
 * A tolerant reading for completion only; the server's parser says what is right. It works on a text whose
 * strings and comments are blanked out, so places stay the same.
 */
export interface Source {
  readonly alias: string;
  readonly stream: string;
}

export type Clause =
  | { readonly kind: "column"; readonly alias: string; readonly from: number }
  | { readonly kind: "source"; readonly from: number }
  | { readonly kind: "after-source"; readonly stream: string; readonly from: number }
  | { readonly kind: "window"; readonly from: number }
  | { readonly kind: "expression"; readonly clause: "select" | "where"; readonly from: number }
  | { readonly kind: "start"; readonly from: number }
  | { readonly kind: "none" };

/** Replace strings and comments by spaces, so that words inside them are not read. */
export function blank(text: string): string {
  return text.replace(/'(?:[^']|'')*(?:'|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (part) =>
    part.replace(/[^\n]/g, " "),
  );
}

const END_OF_FROM = /\b(?:where|group|having|order|limit|union)\b|;/i;
const NAME = '(?:"[^"]+"|[a-z_][a-z0-9_$-]*)';
const ITEM = new RegExp(
  String.raw`^\s*(${NAME})\s*(?:\([^)]*\)|\[[^\]]*\]?)?\s*(?:\bas\b\s*)?(${NAME})?`,
  "i",
);
const VERSION = new RegExp(String.raw`\bfor\s+system_time\s+as\s+of\s+${NAME}\.${NAME}`, "i");
const NOT_AN_ALIAS = /^(?:on|join|inner|cross|left|right|full|asof|for|where|as)$/i;

function unquote(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1) : name.toLowerCase();
}

/** The part between FROM and the next clause, and where it starts; null before a FROM is written. */
function fromClause(text: string): { start: number; body: string } | null {
  const match = /\bfrom\b/i.exec(text);
  if (match === null) return null;
  const start = match.index + match[0].length;
  const rest = text.slice(start);
  const end = END_OF_FROM.exec(rest);
  return { start, body: end === null ? rest : rest.slice(0, end.index) };
}

/** `sourcesOf("SELECT 1 FROM departures [RANGE 1 HOUR] AS d, weather w")` has d and w. */
export function sourcesOf(sql: string): Source[] {
  const from = fromClause(blank(sql));
  if (from === null) return [];
  // ON conditions hold no sources, but commas inside of them would look like some.
  return from.body.split(/,(?![^(]*\))|\b(?:(?:inner|cross)\s+)?join\b/i).flatMap((part) => {
    const entry = part.replace(VERSION, " ").replace(/\bon\b[\s\S]*$/i, " ");
    const match = ITEM.exec(entry);
    const stream = match?.[1];
    if (stream === undefined || NOT_AN_ALIAS.test(stream)) return [];
    const alias = match?.[2];
    const named = alias !== undefined && !NOT_AN_ALIAS.test(alias) ? alias : stream;
    return [{ alias: unquote(named), stream: unquote(stream) }];
  });
}

/** Which kind of word stands at `position`, and where it starts. */
export function clauseAt(sql: string, position: number): Clause {
  const before = blank(sql).slice(0, position);
  // An open string (or comment) was blanked to the end: nothing is offered inside of it.
  if (/\S$/.test(sql.slice(0, position)) && /\s$/.test(before)) return { kind: "none" };
  const word = /[a-z_][a-z0-9_$]*$/i.exec(before)?.[0] ?? "";
  const from = position - word.length;
  const head = before.slice(0, from);
  const qualified = new RegExp(`(${NAME})\\.$`, "i").exec(head);
  if (qualified?.[1] !== undefined) return { kind: "column", alias: unquote(qualified[1]), from };
  if (/\[[^\]]*$/.test(head)) return { kind: "window", from };
  if (/^\s*$/.test(head)) return { kind: "start", from };
  const clause = fromClause(before);
  if (clause === null) return { kind: "expression", clause: "select", from };
  if (clause.start + clause.body.length < position) return { kind: "expression", clause: "where", from };
  if (/(?:\bfrom|\bjoin|,)\s*$/i.test(head) && !/\bon\b[^,]*$/i.test(head.slice(clause.start)))
    return { kind: "source", from };
  const last =
    before
      .slice(clause.start)
      .split(/,(?![^(]*\))|\bjoin\b/i)
      .at(-1) ?? "";
  if (/\bon\b/i.test(last)) return { kind: "expression", clause: "where", from };
  const named = new RegExp(`^\\s*(${NAME})\\s+(?:[a-z]*)$`, "i").exec(last);
  if (named?.[1] !== undefined) return { kind: "after-source", stream: unquote(named[1]), from };
  return { kind: "after-source", stream: "", from };
}
