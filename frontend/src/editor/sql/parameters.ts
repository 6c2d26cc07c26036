/** Parameters of a query: `-- :wind = 20` above SELECT names a value that the text uses as `:wind`. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
  /** Where the value stands in the text. */
  readonly from: number;
  readonly to: number;
}

const DECLARATION = /^[ \t]*--[ \t]*:(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$/;
const STRINGS_AND_COMMENTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g;
const REFERENCE = /(?<![\w\])'":]):(\w+)/g;

/** The declarations on the comment lines that the text begins with. */
export function parametersOf(sql: string): Parameter[] {
  const found: Parameter[] = [];
  let start = 0;
  for (const line of sql.split("\n")) {
    if (line.trim() !== "" && !line.trimStart().startsWith("--")) break;
    const match = DECLARATION.exec(line.replace(/\r$/, ""));
    const [name, value] = [match?.[1], match?.[2]];
    if (name !== undefined && value !== undefined) {
      const from =
        start + line.indexOf("=") + 1 + (/^[ \t]*/.exec(line.slice(line.indexOf("=") + 1))?.[0].length ?? 0);
      found.push({ name, value, from, to: from + value.length });
    }
    start += line.length + 1;
  }
  return found;
}

/** Names that the text uses and does not declare, in the order of their first use. */
export function undeclared(sql: string): string[] {
  const declared = new Set(parametersOf(sql).map((parameter) => parameter.name.toLowerCase()));
  const bare = sql.replace(STRINGS_AND_COMMENTS, (text) => " ".repeat(text.length));
  const used = new Map<string, string>();
  for (const [, name] of bare.matchAll(REFERENCE)) {
    if (name !== undefined && !declared.has(name.toLowerCase()) && !used.has(name.toLowerCase()))
      used.set(name.toLowerCase(), name);
  }
  return [...used.values()];
}

/** Where the next declaration belongs: behind the last one, else at the very beginning. */
export function placeOfDeclaration(sql: string): number {
  const last = parametersOf(sql).at(-1);
  if (last === undefined) return 0;
  const end = sql.indexOf("\n", last.to);
  return end < 0 ? sql.length : end + 1;
}
