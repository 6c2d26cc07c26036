import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Arrivals } from "../api/documents";
import { answered, at, client } from "../api/request";
import { SeriesFigure } from "../charts/series/SeriesFigure";
import type { SeriesPlotData } from "../charts/series/seriesPlot";
import { spanTicks } from "../charts/spanTicks";
import { count, instant, rate, span } from "../format/quantities";
import { Fact } from "../ui/Fact";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { latenessSeries, rateSeries } from "./arrivals";

const REFRESH_MS = 5000;
const BATCHES = 120;

/** Rate and lateness of a stream over the newest batches, for each topology that reads it. */
export function ArrivalPlots({ stream, colour }: { stream: string; colour: string }): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/streams/{name}/arrivals/", at({ name: stream }, { limit: BATCHES }))),
    REFRESH_MS,
    stream,
  );
  return (
    <>
      <ProblemLine text={problem} />
      {value !== null && value.length > 0 && <h2>Accepted and turned away</h2>}
      {value?.map((arrivals) => (
        <OfTopology key={arrivals.topology} arrivals={arrivals} colour={colour} />
      ))}
    </>
  );
}

function OfTopology({ arrivals, colour }: { arrivals: Arrivals; colour: string }): JSX.Element {
  const times = useMemo(() => arrivals.points.map((point) => new Date(point.at)), [arrivals]);
  const rates = useMemo<SeriesPlotData>(
    () => ({
      times,
      series: rateSeries(arrivals.points, colour),
      format: rate,
      title: `Tuples per second that ${arrivals.topology} accepted and turned away`,
    }),
    [times, colour],
  );
  const lateness = useMemo<SeriesPlotData>(
    () => ({
      times,
      series: latenessSeries(arrivals.points, colour),
      format: span,
      ticks: spanTicks,
      title:
        `Event time of the stream behind the newest tuple of ${arrivals.topology}, ` +
        "and behind its own watermark",
    }),
    [times, colour],
  );
  const newest = arrivals.points.at(-1);
  return (
    <section aria-label={`Arrivals in ${arrivals.topology}`}>
      <dl class="numbers compact">
        <Fact
          label="topology"
          value={<a href={`/topologies/${encodeURIComponent(arrivals.topology)}/`}>{arrivals.topology}</a>}
        />
        <Fact label="accepted" value={count(newest?.accepted)} title="in the newest batch" />
        <Fact
          label="late"
          value={count(newest?.late)}
          title="in the newest batch, older than the watermark"
        />
        <Fact label="undecodable" value={count(newest?.undecodable)} title="in the newest batch" />
        <Fact label="newest event (UTC)" value={instant(newest?.newest)} />
        <Fact label="watermark (UTC)" value={instant(newest?.watermark)} />
      </dl>
      {arrivals.points.length < 2 ? (
        <p class="muted">Plots appear after the second batch.</p>
      ) : (
        <div class="plots">
          <SeriesFigure data={rates} label="Rate" />
          <SeriesFigure data={lateness} label="Lateness" />
        </div>
      )}
    </section>
  );
}
