/** Expressions of a plan as SQL, for people: node details, edge titles, join graph labels. */
import { span } from "../format/quantities";
import type { Expression } from "./physicalGraph";

const INFIX: Readonly<Record<string, [string, number]>> = {
  or: ["OR", 1],
  and: ["AND", 2],
  eq: ["=", 4],
  ne: ["<>", 4],
  lt: ["<", 4],
  le: ["<=", 4],
  gt: [">", 4],
  ge: [">=", 4],
  like: ["LIKE", 4],
  ilike: ["ILIKE", 4],
  concat: ["||", 5],
  bit_and: ["&", 5],
  bit_or: ["|", 5],
  shift_left: ["<<", 5],
  shift_right: [">>", 5],
  add: ["+", 6],
  subtract: ["-", 6],
  multiply: ["*", 7],
  divide: ["/", 7],
  integer_divide: ["//", 7],
  modulo: ["%", 7],
};
const CALL_NAMES: Readonly<Record<string, string>> = { day_of_week: "DAYOFWEEK" };
/** Types whose constants are texts behind the type's name. */
const NAMED = new Set(["timestamp", "date", "uuid", "time"]);

function literalText(value: boolean | number | string | null, type: string): string {
  if (value === null) return "NULL";
  if (type === "interval" && typeof value === "number") return `INTERVAL '${span(value / 1000)}'`;
  if (typeof value === "string") {
    const quoted = `'${value.replaceAll("'", "''")}'`;
    return NAMED.has(type) ? `${type.toUpperCase()} ${quoted}` : quoted;
  }
  return typeof value === "boolean" ? (value ? "TRUE" : "FALSE") : String(value);
}

/**
 * `expressionText(eq(d.origin, w.origin))` is "d.origin = w.origin".
 *
 * @param name how to write an input, for example an alias instead of the canonical input
 */
export function expressionText(
  expression: Expression,
  name: (input: string) => string = (input) => input,
): string {
  return write(expression, 0, name);
}

function write(node: Expression, outer: number, name: (input: string) => string): string {
  if (node.kind === "column") return `${name(node.input)}.${node.name}`;
  if (node.kind === "literal") return literalText(node.value, node.type);
  const parts = node.arguments;
  const infix = INFIX[node.function];
  if (infix !== undefined) {
    const [symbol, level] = infix;
    // Left-associative: a right operand of the same level keeps its parentheses.
    const text = parts.map((part, i) => write(part, i === 0 ? level : level + 0.5, name)).join(` ${symbol} `);
    return level < outer ? `(${text})` : text;
  }
  const [first, ...rest] = parts;
  if (first === undefined) return `${node.function.toUpperCase()}()`;
  switch (node.function) {
    case "not":
      return `NOT ${write(first, 3, name)}`;
    case "negate":
      return `-${write(first, 8, name)}`;
    case "bit_not":
      return `~${write(first, 8, name)}`;
    case "is_null":
      return `${write(first, 4, name)} IS NULL`;
    case "in":
      return `${write(first, 4, name)} IN (${rest.map((part) => write(part, 0, name)).join(", ")})`;
    case "cast":
      return `CAST(${write(first, 0, name)} AS ${node.type.toUpperCase()})`;
    case "case":
      return caseText(parts, name);
    default: {
      const called = CALL_NAMES[node.function] ?? node.function.toUpperCase();
      return `${called}(${parts.map((part) => write(part, 0, name)).join(", ")})`;
    }
  }
}

function caseText(parts: readonly Expression[], name: (input: string) => string): string {
  const words = ["CASE"];
  for (let i = 0; i < parts.length; i += 2) {
    const [condition, value] = [parts[i], parts[i + 1]];
    if (condition === undefined) break;
    if (value === undefined) words.push("ELSE", write(condition, 0, name));
    else words.push("WHEN", write(condition, 0, name), "THEN", write(value, 0, name));
  }
  return [...words, "END"].join(" ");
}

/** The inputs that an expression reads, sorted. */
export function inputsOf(expression: Expression): string[] {
  const found = new Set<string>();
  const visit = (node: Expression): void => {
    if (node.kind === "column") found.add(node.input);
    else if (node.kind === "call") node.arguments.forEach(visit);
  };
  visit(expression);
  return [...found].sort();
}
