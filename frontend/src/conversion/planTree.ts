/**
 * Where the operators of a plan stand: a row each, inputs below and to the right of what reads them.
 * Pure: equal plans give equal places.
 */
import { hierarchy, stratify } from "d3";
import type { PlanOperator } from "../api/documents";

export const ROW_HEIGHT = 26;
const INDENT = 20;
const MARGIN = 14;
const CHARACTER = 7.3;
const MOST_CHARACTERS = 96;

export interface PlacedOperator {
  readonly operator: PlanOperator;
  readonly depth: number;
  readonly x: number;
  readonly y: number;
  /** What stands behind the title: conditions and columns, cut off where it gets long. */
  readonly detail: string;
}

export interface PlacedPlan {
  readonly rows: readonly PlacedOperator[];
  readonly links: readonly { readonly source: PlacedOperator; readonly target: PlacedOperator }[];
  readonly width: number;
  readonly height: number;
}

/** Everything about an operator in one line, as a screen reader says it. */
export function wholeText({ title, details, join, kind }: PlanOperator): string {
  const becomes = kind === "join" && join !== null ? `, becomes ${join}` : "";
  return `${title}${becomes}${details.length > 0 ? `: ${details.join(", ")}` : ""}`;
}

export function layoutPlan(operators: readonly PlanOperator[]): PlacedPlan {
  if (operators.length === 0) return { rows: [], links: [], width: 0, height: 0 };
  const tree = stratify<PlanOperator>()
    .id((operator) => String(operator.id))
    .parentId((operator) => (operator.parent === null ? null : String(operator.parent)))([...operators]);
  const rows: PlacedOperator[] = [];
  const links: { source: PlacedOperator; target: PlacedOperator }[] = [];
  const placed = new Map<number, PlacedOperator>();
  hierarchy(tree).eachBefore((node) => {
    const operator = node.data.data;
    const all = operator.details.join(", ");
    const row: PlacedOperator = {
      operator,
      depth: node.depth,
      x: MARGIN + node.depth * INDENT,
      y: MARGIN + rows.length * ROW_HEIGHT,
      detail: all.length > MOST_CHARACTERS ? `${all.slice(0, MOST_CHARACTERS - 1)}…` : all,
    };
    const source = operator.parent === null ? undefined : placed.get(operator.parent);
    if (source !== undefined) links.push({ source, target: row });
    placed.set(operator.id, row);
    rows.push(row);
  });
  const longest = rows.map((row) => row.x + (row.operator.title.length + row.detail.length + 4) * CHARACTER);
  return {
    rows,
    links,
    width: Math.max(...longest) + MARGIN,
    height: 2 * MARGIN + (rows.length - 1) * ROW_HEIGHT,
  };
}
