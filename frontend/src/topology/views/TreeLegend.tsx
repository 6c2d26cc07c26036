import { Fragment, type JSX } from "preact";
import { count, rate } from "../../format/quantities";
import type { Shade, Shading } from "../../plan/layout/shade";

const KINDS = { shuffle: "shuffle", group_by: "group by key", all: "all tasks" } as const;

/** What strokes, their styles and the shades mean. */
export function TreeLegend({ shade, shading }: { shade: Shade; shading: Shading }): JSX.Element {
  return (
    <p class="legend muted small">
      {Object.entries(KINDS).map(([kind, text]) => (
        <Fragment key={kind}>
          <svg width="26" height="8" aria-hidden="true">
            <line class={`link ${kind}`} x1="0" x2="26" y1="4" y2="4" stroke-width="2" />
          </svg>{" "}
          {text}
        </Fragment>
      ))}
      {shade !== "stream" && (
        <span class="scale">
          · <i aria-hidden="true" /> {scaleText(shade, shading.most)}
        </span>
      )}
      <span>· stroke: tuples per second · drag to pan, Ctrl-wheel to zoom</span>
    </p>
  );
}

function scaleText(shade: Shade, most: number | null): string {
  if (most === null) return "not known yet";
  switch (shade) {
    case "stream":
      return "";
    case "cost":
      return `cost of a step, up to ${count(most)}`;
    case "load":
      return `tuples sent there, up to ${rate(most)}`;
    case "skew":
      return `fullest task over the mean, up to ×${most.toFixed(2)}`;
    case "query":
      return `queries that share a step, up to ${count(most)}`;
  }
}
