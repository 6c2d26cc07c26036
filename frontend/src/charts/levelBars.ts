/**
 * The newest batches as stacked bars: how long each level took, what is left over, and the trigger as a line.
 */
import { type EnterElement, max, type Selection, scaleBand, scaleLinear, select } from "d3";
import { milliseconds } from "../format/quantities";
import type { HistoryPoint } from "../live/messages";
import type { Chart } from "./chart";
import { sizedChart } from "./sized";

export interface LevelBarsData {
  /** Oldest first; all of them are drawn. */
  readonly history: readonly HistoryPoint[];
  /** The time between two triggers; null is unknown. */
  readonly triggerMs: number | null;
  /** The batch under the pointer or the focus; null for none. */
  readonly onPoint: (batch: number | null) => void;
}

export interface LevelPart {
  /** 0 is the ingestion; null what no level accounts for: planning the batch and its commit. */
  readonly level: number | null;
  readonly from: number;
  readonly to: number;
}

const MOST_WIDTH = 900;
const LEAST_WIDTH = 240;
const HEIGHT = 132;
const MARGIN = { top: 8, right: 8, bottom: 18, left: 52 };

/** The parts of a batch's seconds, from the bottom of its bar; a batch without levels is one part. */
export function levelParts(point: Pick<HistoryPoint, "seconds" | "level_seconds">): LevelPart[] {
  let top = 0;
  const parts = point.level_seconds.map((seconds, level): LevelPart => {
    const from = top;
    top += seconds;
    return { level, from, to: top };
  });
  return point.seconds > top ? [...parts, { level: null, from: top, to: point.seconds }] : parts;
}

/** What a level is called. */
export function levelName(level: number | null): string {
  return level === null ? "the rest" : level === 0 ? "ingestion" : `level ${level}`;
}

/** The further from the source, the stronger; what belongs to no level is grey. */
export function levelColour(level: number | null, depth: number): string {
  if (level === null) return "var(--line-strong)";
  const share = Math.round(35 + (65 * level) / Math.max(1, depth));
  return `color-mix(in srgb, var(--accent) ${share}%, var(--raised))`;
}

/** `batch 41: 210 ms: ingestion 50 ms, level 1 100 ms, the rest 60 ms`. */
export function levelText(point: HistoryPoint): string {
  const parts = levelParts(point).map(
    (part) => `${levelName(part.level)} ${milliseconds((part.to - part.from) * 1000)}`,
  );
  return `batch ${point.batch}: ${milliseconds(point.seconds * 1000)}: ${parts.join(", ")}`;
}

/** A text, where it stands, and which of its ends stands there. */
type Mark = [text: string, left: number, down: number, anchor: "start" | "end"];

/** The first and the last batch, under their bars. */
function batchMarks(history: readonly HistoryPoint[], width: number): Mark[] {
  return [
    [history.length === 0 ? "" : `batch ${history[0]?.batch}`, MARGIN.left, HEIGHT - 4, "start"],
    [history.length < 2 ? "" : String(history.at(-1)?.batch), width - MARGIN.right, HEIGHT - 4, "end"],
  ];
}

/** The highest that anything of a batch reaches, in seconds. */
function topOf(point: HistoryPoint): number {
  return Math.max(point.seconds, levelParts(point).at(-1)?.to ?? 0);
}

export function createLevelBars(element: HTMLElement): Chart<LevelBarsData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "level-bars")
    .attr("height", HEIGHT)
    .attr("role", "group");
  const bars = svg.append("g");
  const axis = svg
    .append("line")
    .attr("class", "axis")
    .attr("x1", MARGIN.left)
    .attr("y1", HEIGHT - MARGIN.bottom)
    .attr("y2", HEIGHT - MARGIN.bottom);
  const trigger = svg.append("line").attr("class", "trigger").attr("x1", MARGIN.left);
  const labels = svg.append("g").attr("aria-hidden", "true");
  let latest: LevelBarsData = { history: [], triggerMs: null, onPoint: () => {} };
  /** The one bar that Tab reaches; the arrow keys lead from it to the others. */
  let reached: number | null = null;

  const walk = (event: KeyboardEvent, point: HistoryPoint): void => {
    const place = latest.history.findIndex((one) => one.batch === point.batch);
    const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: latest.history.length - 1 }[
      event.key
    ];
    const target = next === undefined ? undefined : latest.history[next];
    if (target === undefined) return;
    event.preventDefault();
    bars
      .selectAll<SVGGElement, HistoryPoint>("g.batch")
      .filter((one) => one.batch === target.batch)
      .node()
      ?.focus();
  };

  const enterBatch = (
    enter: Selection<EnterElement, HistoryPoint, SVGGElement, unknown>,
  ): Selection<SVGGElement, HistoryPoint, SVGGElement, unknown> => {
    const group = enter
      .append("g")
      .attr("class", "batch")
      .attr("role", "img")
      .on("pointerenter", (_event, point) => latest.onPoint(point.batch))
      .on("pointerleave blur", () => latest.onPoint(null))
      .on("focus", (_event, point) => {
        reached = point.batch;
        bars
          .selectAll<SVGGElement, HistoryPoint>("g.batch")
          .attr("tabindex", (one) => (one.batch === reached ? 0 : -1));
        latest.onPoint(point.batch);
      })
      .on("keydown", walk);
    // The whole column answers to the pointer, not only what is filled.
    group
      .append("rect")
      .attr("class", "column")
      .attr("y", MARGIN.top)
      .attr("height", HEIGHT - MARGIN.top - MARGIN.bottom);
    return group;
  };

  const draw = (data: LevelBarsData, room: number): void => {
    latest = data;
    const { history, triggerMs } = latest;
    const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, room));
    svg.attr("viewBox", `0 0 ${width} ${HEIGHT}`).attr("width", width);
    for (const line of [axis, trigger]) line.attr("x2", width - MARGIN.right);
    const depth = (max(history, (point) => point.level_seconds.length) ?? 1) - 1;
    const triggerSeconds = (triggerMs ?? 0) / 1000;
    const most = Math.max(max(history, topOf) ?? 0, triggerSeconds);
    const x = scaleBand(
      history.map((point) => point.batch),
      [MARGIN.left, width - MARGIN.right],
    ).paddingInner(0.2);
    const y = scaleLinear([0, most > 0 ? most : 1], [HEIGHT - MARGIN.bottom, MARGIN.top]);
    svg.attr(
      "aria-label",
      history.length === 0
        ? "no batches yet"
        : `${history.length} batches by level; arrow keys move between them`,
    );
    if (reached === null || !history.some((point) => point.batch === reached))
      reached = history.at(-1)?.batch ?? null;
    const groups = bars
      .selectAll<SVGGElement, HistoryPoint>("g.batch")
      .data(history, (point) => point.batch)
      .join(enterBatch)
      .attr("tabindex", (point) => (point.batch === reached ? 0 : -1))
      .attr("aria-label", levelText);
    groups
      .select("rect.column")
      .attr("x", (point) => x(point.batch) ?? 0)
      .attr("width", x.bandwidth());
    groups
      .selectAll<SVGRectElement, [number, LevelPart]>("rect.part")
      .data((point) => levelParts(point).map((part): [number, LevelPart] => [point.batch, part]))
      .join("rect")
      .attr("class", "part")
      .attr("x", ([batch]) => x(batch) ?? 0)
      .attr("width", x.bandwidth())
      .attr("y", ([, part]) => y(part.to))
      .attr("height", ([, part]) => Math.max(0, y(part.from) - y(part.to)))
      .attr("fill", ([, part]) => levelColour(part.level, depth));
    trigger
      .attr("display", triggerMs === null ? "none" : null)
      .attr("y1", y(triggerSeconds))
      .attr("y2", y(triggerSeconds));
    axis.raise();
    const marks: Mark[] = [
      [milliseconds(most * 1000), MARGIN.left - 4, y(most) + 4, "end"],
      ["0", MARGIN.left - 4, y(0), "end"],
      ...batchMarks(history, width),
    ];
    labels
      .selectAll<SVGTextElement, Mark>("text")
      .data(marks)
      .join("text")
      .attr("x", ([, left]) => left)
      .attr("y", ([, , down]) => down)
      .attr("text-anchor", ([, , , anchor]) => anchor)
      .text(([text]) => text);
  };

  return sizedChart(element, svg, draw);
}
