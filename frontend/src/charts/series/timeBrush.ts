/** A stretch of time at a glance, of which a part is chosen: by pointer, or by keys. */
import { area, axisBottom, brushX, type D3BrushEvent, max, scaleLinear, scaleUtc, select } from "d3";
import type { Chart } from "../chart";
import { sizedChart } from "../sized";
import { timeTick } from "./timeTick";

/** From where to where, in milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface TimeBrushData {
  readonly times: readonly Date[];
  /** How much at each time; null leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly whole: Span;
  /** Null: all of it. */
  readonly chosen: Span | null;
  readonly onChoose: (chosen: Span | null) => void;
  readonly title: string;
}

const HEIGHT = 64;
const SIDE = 10;
const FLOOR = HEIGHT - 18;
/** Of what is chosen, for one press of a key. */
const STEP = 0.1;
const MINUTE_MS = 60_000;
const LEAST_MS = 5 * MINUTE_MS;

/**
 * What a key makes of a choice: arrows move it, + and - make it finer and wider, Home and End lead to the ends.
 *
 * @returns null for all of it; undefined if the key says nothing
 */
export function keyed(key: string, chosen: Span | null, whole: Span): Span | null | undefined {
  const { from, to } = chosen ?? whole;
  const length = to - from;
  const moved = (by: number): Span | null => within({ from: from + by, to: to + by }, whole);
  // Choices are whole minutes: less would not move them.
  const step = Math.max(STEP * length, MINUTE_MS);
  switch (key) {
    case "ArrowLeft":
      return moved(-step);
    case "ArrowRight":
      return moved(step);
    case "Home":
      return moved(whole.from - from);
    case "End":
      return moved(whole.to - to);
    case "+":
    case "=":
      return length / 2 < LEAST_MS
        ? (chosen ?? null)
        : within({ from: from + length / 4, to: to - length / 4 }, whole);
    case "-":
      return within({ from: from - length / 2, to: to + length / 2 }, whole);
    case "Escape":
      return null;
    default:
      return undefined;
  }
}

/** A choice of the same length within the whole, in whole minutes; null if it is the whole. */
export function within(chosen: Span, whole: Span): Span | null {
  const length = Math.max(LEAST_MS, chosen.to - chosen.from);
  if (length >= whole.to - whole.from) return null;
  const begin = Math.min(Math.max(chosen.from, whole.from), whole.to - length);
  // Inward, so that it stays within.
  return {
    from: Math.ceil(begin / MINUTE_MS) * MINUTE_MS,
    to: Math.floor((begin + length) / MINUTE_MS) * MINUTE_MS,
  };
}

function isOfPerson(event: D3BrushEvent<unknown>): boolean {
  return event.sourceEvent !== undefined && event.sourceEvent !== null;
}

export function createTimeBrush(element: HTMLElement): Chart<TimeBrushData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "time-brush")
    .attr("height", HEIGHT)
    .attr("tabindex", 0)
    .attr("role", "group");
  const past = svg.append("path").attr("class", "past");
  const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${FLOOR})`);
  const layer = svg.append("g").attr("class", "brush");
  let latest: TimeBrushData | null = null;
  let isDragged = false;
  /** What came during a drag, which a drawing would end. */
  let waiting: (() => void) | null = null;

  svg.on("keydown", (event: KeyboardEvent) => {
    if (latest === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = keyed(event.key, latest.chosen, latest.whole);
    if (found === undefined) return;
    event.preventDefault();
    latest.onChoose(found);
  });

  const draw = (data: TimeBrushData, room: number): void => {
    if (isDragged) {
      waiting = () => draw(data, room);
      return;
    }
    latest = data;
    const { times, values, whole, chosen, onChoose, title } = data;
    const width = Math.max(200, room);
    svg.attr("viewBox", `0 0 ${width} ${HEIGHT}`).attr("width", width).attr("aria-label", title);
    const x = scaleUtc([new Date(whole.from), new Date(whole.to)], [SIDE, width - SIDE]);
    const most = max(values, (value) => value ?? 0) ?? 0;
    const y = scaleLinear([0, most > 0 ? most : 1], [FLOOR, 4]);
    axis.call(
      axisBottom(x)
        .ticks(Math.max(2, Math.round(width / 110)))
        .tickFormat((at) => timeTick(at as Date))
        .tickSizeOuter(0),
    );
    past.attr(
      "d",
      area<number | null>()
        .defined((value) => value !== null)
        .x((_, i) => x(times[i] ?? 0))
        .y0(FLOOR)
        .y1((value) => y(value ?? 0))([...values]) ?? "",
    );
    const brush = brushX<unknown>()
      .extent([
        [SIDE, 2],
        [width - SIDE, FLOOR],
      ])
      // What is drawn below says nothing; people do.
      .on("start", (event: D3BrushEvent<unknown>) => {
        isDragged = isOfPerson(event);
      })
      .on("end", (event: D3BrushEvent<unknown>) => {
        if (!isOfPerson(event)) return;
        isDragged = false;
        waiting?.();
        waiting = null;
        const selection = event.selection as [number, number] | null;
        onChoose(
          selection === null
            ? null
            : within({ from: x.invert(selection[0]).getTime(), to: x.invert(selection[1]).getTime() }, whole),
        );
      });
    layer.call(brush);
    // A finger still scrolls the page over it.
    layer.select(".overlay").style("touch-action", "pan-y");
    layer.call(brush.move, chosen === null ? null : [x(chosen.from), x(chosen.to)]);
  };

  return sizedChart(element, svg, draw);
}
