import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { TopologyHistory } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { ChartHost } from "../../charts/ChartHost";
import { SeriesFigure } from "../../charts/series/SeriesFigure";
import { createTimeBrush, type Span, type TimeBrushData } from "../../charts/series/timeBrush";
import { instant, span as spanText } from "../../format/quantities";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Loading";
import { ProblemLine } from "../../ui/ProblemLine";
import { useAddress } from "../../ui/useAddress";
import { useLoaded } from "../../ui/useLoaded";
import { perSecond, placesOf, plotsOf } from "./measures";
import { fieldText, fieldTime, isLonger, PRESET_NAMES, type Range, rangeOf, wholeOf } from "./range";

const REFRESH_MS = 30_000;

function load(name: string, span: Span): Promise<TopologyHistory> {
  const asked = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  return answered(client.GET("/api/topologies/{name}/history/", at({ name }, asked)));
}

/** The range in the page's address: a page that is sent to somebody shows the same time. */
function useRange(): [Range, (range: Range) => void] {
  const [past, setPast] = useAddress("past");
  const [from, setFrom] = useAddress("from");
  const [to, setTo] = useAddress("to");
  const range = useMemo(() => rangeOf(past, from, to), [past, from, to]);
  const change = ({ past, zoom }: Range): void => {
    setPast(past);
    setFrom(zoom === null ? null : `${fieldText(zoom.from)}Z`);
    setTo(zoom === null ? null : `${fieldText(zoom.to)}Z`);
  };
  return [range, change];
}

interface Props {
  readonly name: string;
  /** The moment up to which it is told; null follows the clock. */
  readonly until: string | null;
}

/** What a topology did, for months back: small charts over one time, and a brush that zooms all of them. */
export function HistoryTab({ name, until }: Props): JSX.Element {
  const [range, setRange] = useRange();
  const { past, zoom } = range;
  const end = (): number => (until === null ? Date.now() : Date.parse(until));
  const whole = useLoaded(
    () => load(name, wholeOf(range, end())),
    until === null ? REFRESH_MS : null,
    `${name} ${past} ${isLonger(range, end()) ? zoom?.from : ""} ${until}`,
  );
  const part = useLoaded(
    () => (zoom === null ? Promise.resolve(null) : load(name, zoom)),
    null,
    `${name} ${zoom?.from} ${zoom?.to}`,
  );
  // Another time's picture stands until the new one is there: nothing on the page moves meanwhile.
  const newest = useRef<TopologyHistory | null>(null);
  newest.current = whole.value ?? newest.current;
  const history = newest.current;
  if (history === null) return <Loading problem={whole.problem} />;
  return (
    <section class="history" aria-label="History">
      <ProblemLine text={part.problem ?? whole.problem} />
      {history.since === null ? (
        <p class="empty">
          Nothing is kept of this topology yet. Its first minute appears here half a minute after its job
          began to work, and stays: in minutes for 2 days, in ten minutes for 14, in hours for 400.
        </p>
      ) : (
        <Past
          whole={history}
          // The coarse picture stands until the fine one is there.
          part={zoom === null ? history : (part.value ?? history)}
          range={range}
          onRange={setRange}
        />
      )}
    </section>
  );
}

interface PastProps {
  readonly whole: TopologyHistory;
  readonly part: TopologyHistory;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

function spanOf(history: TopologyHistory): Span {
  return { from: Date.parse(history.from), to: Date.parse(history.to) };
}

function Past({ whole, part, range, onRange }: PastProps): JSX.Element {
  const { zoom } = range;
  const shown = useMemo(() => zoom ?? spanOf(whole), [zoom, whole]);
  const plots = useMemo(() => plotsOf(part, shown), [part, shown]);
  const brush = useMemo((): TimeBrushData => {
    const span = spanOf(whole);
    const places = placesOf(whole, span);
    const rate = perSecond((period) => period.tuples_in, whole);
    return {
      times: places.map((place) => place.at),
      values: places.map(({ period }) => (period === null ? null : rate(period))),
      whole: span,
      chosen: zoom,
      onChoose: (chosen) => onRange({ past: range.past, zoom: chosen }),
      title:
        `Tuples per second from ${instant(whole.from)} to ${instant(whole.to)} UTC. ` +
        "Arrow keys move what is shown, plus and minus make it shorter and longer, Escape shows all.",
    };
  }, [whole, range]);
  const isEmpty = plots[0]?.data.times.length === 0;
  return (
    <>
      <RangeTools range={range} shown={shown} onRange={onRange} />
      <p class="muted">
        {spanText(part.resolution * 1000)} a point, times in UTC, kept since {instant(whole.since)}. Where
        nothing is drawn, no job was there.
      </p>
      {isEmpty ? (
        <p class="empty">
          No job of this topology was there at that time. There is something since {instant(whole.since)} UTC.
        </p>
      ) : (
        <div class="plots">
          {plots.map(({ label, data }) => (
            <SeriesFigure key={label} label={label} data={data} />
          ))}
        </div>
      )}
      <ChartHost create={createTimeBrush} data={brush} class="brush-host" label="What is shown" />
    </>
  );
}

interface RangeToolsProps {
  readonly range: Range;
  readonly shown: Span;
  readonly onRange: (range: Range) => void;
}

function RangeTools({ range, shown, onRange }: RangeToolsProps): JSX.Element {
  const between = (from: number | null, to: number | null): void => {
    if (from !== null && to !== null && from < to) onRange({ past: range.past, zoom: { from, to } });
  };
  return (
    <div class="toolbar">
      <span class="muted">Last</span>
      {PRESET_NAMES.map((past) => (
        <Button
          key={past}
          small
          aria-pressed={past === range.past && range.zoom === null}
          onClick={() => onRange({ past, zoom: null })}
        >
          {past}
        </Button>
      ))}
      <TimeField
        label="From (UTC)"
        value={shown.from}
        onTime={(time) => between(time, range.zoom?.to ?? shown.to)}
      />
      <TimeField
        label="To (UTC)"
        value={shown.to}
        onTime={(time) => between(range.zoom?.from ?? shown.from, time)}
      />
    </div>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly value: number;
  readonly onTime: (time: number | null) => void;
}

function TimeField({ label, value, onTime }: TimeFieldProps): JSX.Element {
  return (
    <label class="inline">
      <span>{label}</span>
      <input
        type="datetime-local"
        value={fieldText(value)}
        onChange={(event) => onTime(fieldTime(event.currentTarget.value))}
      />
    </label>
  );
}
