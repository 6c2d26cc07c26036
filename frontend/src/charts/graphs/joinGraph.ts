/** Draws a query's join graph: one pill per alias, one line per predicate. */
import { select } from "d3";
import type { StreamColour } from "../../colour/streams";
import { windowLength } from "../../format/quantities";
import type { PlacedJoinGraph } from "../../plan/layout/joinGraph";
import type { Chart } from "../chart";

export interface JoinGraphData {
  readonly placed: PlacedJoinGraph;
  readonly colour: StreamColour;
}

type Node = PlacedJoinGraph["nodes"][number];
type Link = PlacedJoinGraph["links"][number];

/** `d.origin = w.origin` needs only "origin", other equalities no aliases; the title has all of it. */
export function shortPredicate(text: string): string {
  const [first = "", ...more] = text.split("\n");
  const same = /^\w+\.(\w+) = \w+\.(\w+)$/.exec(first);
  const short =
    same !== null && same[1] === same[2]
      ? (same[1] ?? first)
      : same !== null
        ? `${same[1]} = ${same[2]}`
        : first;
  const cut = short.length > 24 ? `${short.slice(0, 23)}…` : short;
  return more.length > 0 ? `${cut} +${more.length}` : cut;
}

const ALIAS_LENGTH = 12;

function clipAlias(alias: string): string {
  return alias.length > ALIAS_LENGTH ? `${alias.slice(0, ALIAS_LENGTH - 1)}…` : alias;
}

function pillWidth(alias: string): number {
  return Math.max(30, clipAlias(alias).length * 8 + 14);
}

export function createJoinGraph(element: HTMLElement): Chart<JoinGraphData> {
  const svg = select(element).append("svg").attr("class", "join-graph").attr("role", "img");
  const links = svg.append("g");
  const nodes = svg.append("g");
  return {
    update({ placed, colour }) {
      const summary = placed.links.map((link) => link.text.replaceAll("\n", " and ")).join("; ");
      svg
        .attr("viewBox", `0 0 ${placed.width} ${placed.height}`)
        .attr("aria-label", `Join graph of ${placed.nodes.map((node) => node.alias).join(", ")}: ${summary}`);
      const drawnLinks = links
        .selectAll<SVGGElement, Link>("g")
        .data(placed.links, (link) => link.key)
        .join((enter) => {
          const group = enter.append("g");
          group.append("title");
          group.append("line");
          group.append("text").attr("text-anchor", "middle");
          return group;
        })
        .attr(
          "class",
          (link) =>
            `join ${link.equality ? "equality" : "theta"}${link.nary ? " nary" : ""}${link.waits === null ? "" : " waits"}`,
        );
      drawnLinks
        .select("title")
        .text((link) => (link.waits === null ? link.text : `${link.text}\nan ${link.waits}`));
      drawnLinks
        .select("line")
        .attr("x1", (link) => link.from.x)
        .attr("y1", (link) => link.from.y)
        .attr("x2", (link) => link.to.x)
        .attr("y2", (link) => link.to.y);
      drawnLinks
        .select("text")
        .attr("x", (link) => (link.from.x + link.to.x) / 2)
        .attr("y", (link) => (link.from.y + link.to.y) / 2 - 5)
        .text((link) => shortPredicate(link.text));
      const drawn = nodes
        .selectAll<SVGGElement, Node>("g")
        .data(placed.nodes, (node) => node.alias)
        .join((enter) => {
          const group = enter.append("g");
          group.append("title");
          group.append("rect").attr("height", 30).attr("y", -15).attr("rx", 15);
          group.append("text").attr("class", "alias").attr("text-anchor", "middle").attr("dy", "0.35em");
          group.append("text").attr("class", "stream").attr("text-anchor", "middle");
          return group;
        })
        .attr("transform", (node) => `translate(${node.x},${node.y})`);
      drawn
        .select("title")
        .text((node) => [`${node.stream}, kept: ${windowLength(node.windowMs)}`, ...node.filters].join("\n"));
      drawn
        .select("rect")
        .attr("width", (node) => pillWidth(node.alias))
        .attr("x", (node) => -pillWidth(node.alias) / 2)
        .attr("stroke", (node) => colour(node.stream));
      drawn.select("text.alias").text((node) => clipAlias(node.alias));
      drawn
        .select("text.stream")
        // Outwards, away from the lines to the other half of the picture.
        .attr("y", (node) => (node.y < placed.height / 2 - 8 ? -22 : 29))
        .text(({ stream, windowMs, filters }) => {
          const filtered = filters.length > 0 ? ` · σ${filters.length}` : "";
          return `${stream} · ${windowLength(windowMs)}${filtered}`;
        });
    },
    dispose() {
      svg.remove();
    },
  };
}
