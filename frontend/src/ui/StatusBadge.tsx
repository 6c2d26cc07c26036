import type { JSX } from "preact";

/** A sign for every state, so that colour never is the only difference. */
const SIGNS: Readonly<Record<string, string>> = {
  running: "▶",
  idle: "◦",
  "waiting for a plan": "…",
  starting: "…",
  deploying: "…",
  planning: "…",
  stopping: "…",
  suspended: "⏸",
  stopped: "■",
  draft: "✎",
  failed: "✕",
  lost: "✕",
};

export function StatusBadge({ state, title }: { state: string; title?: string | null }): JSX.Element {
  return (
    <span
      class={`status status-${state.replaceAll(" ", "-")}`}
      {...(title === null || title === undefined ? {} : { title })}
    >
      <span aria-hidden="true">{SIGNS[state] ?? "·"}</span> {state}
    </span>
  );
}
