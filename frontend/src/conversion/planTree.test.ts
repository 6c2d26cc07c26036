// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PlanOperator } from "../api/documents";
import { createOperatorTree } from "../charts/graphs/operatorTree";
import { layoutPlan, ROW_HEIGHT, wholeText } from "./planTree";

const operator = (
  id: number,
  parent: number | null,
  kind: string,
  title: string,
  details: string[] = [],
  join: string | null = null,
): PlanOperator => ({ id, parent, kind, title, details, join });
const BEFORE = [
  operator(0, null, "project", "project", ["a.k"]),
  operator(1, 0, "join", "inner join", ["b.v = c.v"], "multi_join"),
  operator(2, 1, "join", "inner join", ["a.k = b.k"], "multi_join"),
  operator(3, 2, "scan", "scan a"),
  operator(4, 2, "scan", "scan b"),
  operator(5, 1, "scan", "scan c"),
];

describe("the layout", () => {
  it("gives every operator a row in the plan's order, inputs to the right of what reads them", () => {
    const { rows, links } = layoutPlan(BEFORE);
    expect(rows.map((row) => row.operator.id)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rows.map((row) => row.depth)).toEqual([0, 1, 2, 3, 3, 2]);
    expect(new Set(rows.map((row) => row.y)).size).toBe(rows.length);
    expect((rows[1]?.y ?? 0) - (rows[0]?.y ?? 0)).toBe(ROW_HEIGHT);
    expect(links.map(({ source, target }) => [source.operator.id, target.operator.id])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [2, 4],
      [1, 5],
    ]);
    expect(links.every(({ source, target }) => source.x < target.x && source.y < target.y)).toBe(true);
  });

  it("cuts long conditions off in the picture and nowhere else", () => {
    const condition = "a.k = b.k".repeat(40);
    const { rows, width } = layoutPlan([operator(0, null, "filter", "filter", [condition])]);
    expect(rows[0]?.detail).toMatch(/…$/);
    expect(width).toBeLessThan(1200);
    expect(wholeText(operator(0, null, "filter", "filter", [condition]))).toContain(condition);
  });

  it("has nothing for no plan", () => {
    expect(layoutPlan([])).toEqual({ rows: [], links: [], width: 0, height: 0 });
  });
});

describe("the drawing", () => {
  let host: HTMLElement;
  beforeEach(() => {
    host = document.createElement("div");
    document.body.replaceChildren(host);
  });
  const marked = (): (string | null)[] =>
    [...host.querySelectorAll(".operator.marked")].map(
      (node) => node.querySelector("title")?.textContent ?? null,
    );

  it("lights up all binary joins of one multi-way join, and is the same however often it is drawn", () => {
    const onHover = vi.fn();
    const chart = createOperatorTree(host);
    const data = { placed: layoutPlan(BEFORE), label: "Before", marked: null, onHover };
    chart.update(data);
    const picture = host.innerHTML;
    chart.update(data);
    expect(host.innerHTML).toBe(picture);
    expect(marked()).toEqual([]);
    host.querySelectorAll(".operator")[2]?.dispatchEvent(new Event("pointerenter"));
    expect(onHover).toHaveBeenCalledWith("multi_join");
    chart.update({ ...data, marked: "multi_join" });
    expect(marked()).toEqual([
      "inner join, becomes multi_join: b.v = c.v",
      "inner join, becomes multi_join: a.k = b.k",
    ]);
    chart.update({ ...data, placed: layoutPlan(BEFORE.slice(0, 1)) });
    expect(host.querySelectorAll(".operator")).toHaveLength(1);
    chart.dispose();
    expect(host.children).toHaveLength(0);
  });
});
