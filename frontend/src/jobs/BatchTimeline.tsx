import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ChartHost } from "../charts/ChartHost";
import { createLevelBars, type LevelBarsData, levelColour, levelName, levelText } from "../charts/levelBars";
import { clock, count, milliseconds } from "../format/quantities";
import type { HistoryPoint } from "../live/messages";
import { useFeed } from "../live/useFeed";

const BATCHES = 60;

interface Props {
  readonly history: readonly HistoryPoint[];
  readonly triggerMs: number | null;
}

/** Where the newest batches' time went, level by level; the pointed one, or else the newest, in numbers. */
export function BatchTimeline({ history, triggerMs }: Props): JSX.Element {
  const [pointed, setPointed] = useState<number | null>(null);
  const newest = useMemo(() => history.slice(-BATCHES), [history]);
  const data = useMemo(
    (): LevelBarsData => ({ history: newest, triggerMs, onPoint: setPointed }),
    [newest, triggerMs],
  );
  const shown = newest.find((point) => point.batch === pointed) ?? newest.at(-1);
  const depth = Math.max(0, ...newest.map((point) => point.level_seconds.length - 1));
  if (shown === undefined) return <p class="empty">No batch yet.</p>;
  const levels: (number | null)[] = [...Array.from({ length: depth + 1 }, (_, level) => level), null];
  return (
    <figure class="timeline">
      <figcaption class="legend">
        {levels.map((level) => (
          <span key={level ?? "rest"} class="key">
            <i class="swatch" style={{ background: levelColour(level, depth) }} aria-hidden="true" />{" "}
            {levelName(level)}
          </span>
        ))}
        {triggerMs !== null && (
          <span class="key">
            <svg width="22" height="8" aria-hidden="true">
              <line class="trigger" x1="0" y1="4" x2="22" y2="4" />
            </svg>{" "}
            trigger, every {milliseconds(triggerMs)}
          </span>
        )}
      </figcaption>
      <ChartHost create={createLevelBars} data={data} class="level-host" label="Batches by level" />
      <p class="small batch-numbers">
        {levelText(shown)}{" "}
        <span class="muted">
          · {clock(shown.at)} UTC · {count(shown.tuples_in)} tuples in, {count(shown.results)} results
          {shown.backlog === null ? "" : `, ${count(shown.backlog)} waiting`}
        </span>
      </p>
    </figure>
  );
}

/** The same, fed while it is open: on a page with many topologies nobody wants a connection for each. */
export function LiveTimeline({ topology, triggerMs }: { topology: string; triggerMs: number }): JSX.Element {
  const { snapshot } = useFeed(topology);
  return snapshot === null ? (
    <p class="muted">Loading…</p>
  ) : (
    <BatchTimeline history={snapshot.history} triggerMs={triggerMs} />
  );
}
