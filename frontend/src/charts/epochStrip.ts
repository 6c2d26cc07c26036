/** The newest batches in time: a bar for how long each took, a ring where a plan took over. */
import { max, scaleSqrt, scaleTime, select } from "d3";
import { clock, count, milliseconds, rate } from "../format/quantities";
import type { EpochPoint, HistoryPoint, Snapshot } from "../live/messages";
import type { Chart } from "./chart";
import { sizedChart } from "./sized";

export interface EpochStripData {
  readonly history: readonly HistoryPoint[];
  readonly switches: Snapshot["switches"];
  /** How far estimates were off, epoch by epoch. */
  readonly epochs: readonly EpochPoint[];
  /** The plan that is looked at instead of the running one. */
  readonly past: string | null;
  readonly onChoose: (planId: string) => void;
}

const HEIGHT = 54;
const SIDE = 10;
/** Estimates within the first factor are good, within the second rough, beyond it wrong. */
const [GOOD, ROUGH] = [2, 10];

/** How wrong estimates were that were off by this factor. */
function errorClass(qError: number | null): "unknown" | "good" | "rough" | "wrong" {
  if (qError === null) return "unknown";
  return qError < GOOD ? "good" : qError < ROUGH ? "rough" : "wrong";
}

function errorText(point: EpochPoint): string {
  const error = point.q_error;
  const span = `epoch ${point.epoch}, batches ${point.first_batch} to ${point.last_batch}`;
  if (error === null) return `${span}: event time did not advance`;
  const off = `×${error.median.toFixed(1)} in the median, ×${error.max.toFixed(1)} at most`;
  const worst = `${error.worst}: ${rate(error.estimated)} estimated, ${rate(error.actual)} actual`;
  return `${span}: estimates off by ${off} (${worst})`;
}

export function createEpochStrip(element: HTMLElement): Chart<EpochStripData> {
  const svg = select(element)
    .append("svg")
    .attr("class", "epochs")
    .attr("height", HEIGHT)
    .attr("role", "group");
  const errors = svg.append("g").attr("class", "errors");
  const bars = svg.append("g").attr("class", "bars");
  const axis = svg.append("line").attr("class", "axis");
  const marks = svg.append("g").attr("class", "switches");
  const labels = svg.append("g").attr("class", "ends");
  let latest: EpochStripData = { history: [], switches: [], epochs: [], past: null, onChoose: () => {} };

  const draw = (data: EpochStripData, room: number): void => {
    latest = data;
    const width = Math.max(200, room);
    const { history } = latest;
    const times = history.map((point) => Date.parse(point.at));
    const [first, last] = [times[0], times.at(-1)];
    svg.attr("viewBox", `0 0 ${width} ${HEIGHT}`).attr("width", width);
    const known = first !== undefined && last !== undefined;
    svg.attr(
      "aria-label",
      known ? `${history.length} batches, ${latest.switches.length} plan switches` : "no batches yet",
    );
    const x = scaleTime(
      [new Date(first ?? 0), new Date(Math.max(last ?? 1, (first ?? 0) + 1))],
      [SIDE, width - SIDE],
    );
    const y = scaleSqrt([0, max(history, (point) => point.seconds) ?? 1], [0, 24]);
    const at = new Map(history.map((point) => [point.batch, new Date(point.at)]));
    const batchesOf = (point: EpochPoint): Date[] =>
      history
        .filter((one) => one.batch >= point.first_batch && one.batch <= point.last_batch)
        .flatMap((one) => at.get(one.batch) ?? []);
    errors
      .selectAll<SVGRectElement, EpochPoint>("rect")
      .data(
        latest.epochs.filter((point) => batchesOf(point).length > 0),
        (point) => point.epoch,
      )
      .join((enter) => {
        const mark = enter.append("rect");
        mark.append("title");
        return mark;
      })
      .attr("x", (point) => x(batchesOf(point)[0] ?? 0))
      .attr("width", (point) => Math.max(2, x(batchesOf(point).at(-1) ?? 0) - x(batchesOf(point)[0] ?? 0)))
      .attr("y", 2)
      .attr("height", 4)
      .attr("class", (point) => errorClass(point.q_error?.median ?? null))
      .select("title")
      .text(errorText);
    axis.attr("x1", 0).attr("x2", width).attr("y1", 36).attr("y2", 36);
    bars
      .selectAll<SVGRectElement, HistoryPoint>("rect")
      .data(history, (point) => point.batch)
      .join((enter) => {
        const bar = enter.append("rect");
        bar.append("title");
        return bar;
      })
      .attr("x", (point) => x(new Date(point.at)) - 1)
      .attr("width", 2)
      .attr("y", (point) => 36 - Math.max(1, y(point.seconds)))
      .attr("height", (point) => Math.max(1, y(point.seconds)))
      .attr("class", (point) => (point.epoch % 2 === 0 ? "even" : "odd"))
      .select("title")
      .text((point) => {
        const done = `${count(point.tuples_in)} tuples in ${milliseconds(point.seconds * 1000)}`;
        return `batch ${point.batch}, epoch ${point.epoch}, ${clock(point.at)}: ${done}`;
      });
    const visible = known ? latest.switches.filter((change) => Date.parse(change.at) >= first) : [];
    marks
      .selectAll<SVGCircleElement, Snapshot["switches"][number]>("circle")
      .data(visible, (change) => `${change.epoch}-${change.batch}-${change.plan_id}`)
      .join((enter) => {
        const mark = enter
          .append("circle")
          .attr("r", 5)
          .attr("tabindex", 0)
          .attr("role", "button")
          .on("click", (_event, change) => latest.onChoose(change.plan_id))
          .on("keydown", (event: KeyboardEvent, change) => {
            if (event.key === "Enter") latest.onChoose(change.plan_id);
          });
        mark.append("title");
        return mark;
      })
      .attr("cx", (change) => Math.min(width - SIDE, x(new Date(change.at))))
      .attr("cy", 36)
      .classed("chosen", (change) => change.plan_id === latest.past)
      .select("title")
      .text((change) => {
        const plan = `plan ${change.plan_id} from batch ${change.batch} on, epoch ${change.epoch}`;
        return `Plan switch at ${clock(change.at)}: ${plan}\n${change.cause}`;
      });
    labels
      .selectAll<SVGTextElement, string>("text")
      .data(known ? [clock(history[0]?.at), `${clock(history.at(-1)?.at)} UTC`] : ["no batches yet"])
      .join("text")
      .attr("x", (_, i) => (i === 0 ? 2 : width - 2))
      .attr("y", 51)
      .attr("text-anchor", (_, i) => (i === 0 ? "start" : "end"))
      .text((text) => text);
  };

  return sizedChart(element, svg, draw);
}
