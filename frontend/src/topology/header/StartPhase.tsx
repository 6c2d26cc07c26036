import type { JSX } from "preact";
import type { Snapshot } from "../../live/messages";
import { useNow } from "../../ui/useNow";

const WORDS = {
  checkpoint: "reading its checkpoint",
  spark: "starting Spark",
  query: "starting the streaming query",
  batch: "working on its first batch",
} as const;

/** What a job does until its first batch is committed, and for how long it has been on its way. */
export function StartPhase({ snapshot }: { snapshot: Snapshot }): JSX.Element | null {
  const now = useNow();
  const { phase, launched_at } = snapshot;
  if (phase === null) return null;
  const seconds = launched_at === null ? 0 : Math.max(0, Math.round((now - Date.parse(launched_at)) / 1000));
  return (
    <span class="muted" role="status">
      {WORDS[phase]}
      <span aria-hidden="true">, {seconds} s since its launch</span>
    </span>
  );
}
