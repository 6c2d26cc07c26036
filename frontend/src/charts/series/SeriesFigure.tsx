import type { JSX } from "preact";
import { ChartHost } from "../ChartHost";
import { createSeriesPlot, type SeriesPlotData } from "./seriesPlot";

/** Lines over time under a caption that is their key. */
export function SeriesFigure({
  data,
  label,
}: {
  readonly data: SeriesPlotData;
  readonly label: string;
}): JSX.Element {
  return (
    <figure>
      <figcaption>
        <strong>{label}</strong>{" "}
        {data.series.map((one) => (
          <span key={one.name} class="key">
            <svg width="22" height="8" aria-hidden="true">
              <line
                x1="0"
                y1="4"
                x2="22"
                y2="4"
                stroke={one.colour}
                stroke-width="2"
                stroke-dasharray={one.dash}
              />
            </svg>{" "}
            {one.name}
          </span>
        ))}
      </figcaption>
      <ChartHost create={createSeriesPlot} data={data} class="plot-host" label={label} />
    </figure>
  );
}
