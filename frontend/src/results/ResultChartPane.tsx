import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { QueryDocument, ResultChart } from "../api/documents";
import { answered, at, client } from "../api/request";
import { Button } from "../ui/Button";
import { Select } from "../ui/fields";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";
import { useRequest } from "../ui/useRequest";
import { useWidth } from "../ui/useWidth";
import { choices, firstChart, type ResultColumn } from "./chart";
import { drawResults } from "./resultPlot";

const REFRESH_MS = 3000;
/** As many as the live tail keeps. */
const LIMIT = 1000;

interface Props {
  readonly query: QueryDocument;
  readonly onQuery: (query: QueryDocument) => void;
}

/** A query's newest results as a picture, which follows them; what it draws is kept with the query. */
export function ResultChartPane({ query, onQuery }: Props): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/results/", at({ id: query.id }, { limit: LIMIT }))),
    REFRESH_MS,
    query.id,
  );
  const [chosen, setChosen] = useState<ResultChart | null>(query.chart);
  const first = useMemo(() => (value === null ? null : firstChart(value.columns)), [value]);
  const { busy, problem: refusal, send } = useRequest();
  const chart = chosen ?? first;
  if (value === null) return <Loading problem={problem} />;
  if (chart === null) return <p class="empty">It has no column that could be drawn.</p>;
  const keep = (): void =>
    send(answered(client.PUT("/api/queries/{id}/chart/", { ...at({ id: query.id }), body: chart })), () =>
      onQuery({ ...query, chart }),
    );
  const isKept = query.chart !== null && same(chart, query.chart);
  return (
    <section class="result-chart" aria-label="Chart of the results">
      <div class="toolbar">
        <ChartChoice chart={chart} columns={value.columns} onChart={setChosen} />
        {query.can_edit && (
          <Button small disabled={busy || isKept} onClick={keep}>
            {isKept ? "Kept with the query" : "Keep with the query"}
          </Button>
        )}
      </div>
      {value.rows.length === 0 ? (
        <p class="empty">No results yet. They are drawn with the batch that finds them.</p>
      ) : (
        <Picture chart={chart} columns={value.columns} rows={value.rows} />
      )}
      <ProblemLine text={refusal ?? problem} />
    </section>
  );
}

function same(one: ResultChart, other: ResultChart): boolean {
  return (["mark", "x", "y", "colour"] as const).every((key) => (one[key] ?? null) === (other[key] ?? null));
}

function ChartChoice({
  chart,
  columns,
  onChart,
}: {
  readonly chart: ResultChart;
  readonly columns: readonly ResultColumn[];
  readonly onChart: (chart: ResultChart) => void;
}): JSX.Element {
  const offered = choices(columns);
  const up = [
    ...offered.y.flatMap((name) => [
      [`dots ${name}`, name] as const,
      [`line ${name}`, `${name}, as a line`] as const,
    ]),
    ["count", "number of results"] as const,
  ];
  const draw = (value: string): void => {
    const [mark, ...rest] = value.split(" ");
    onChart(
      mark === "line" || mark === "dots"
        ? { ...chart, mark, y: rest.join(" ") }
        : { ...chart, mark: "count", y: null },
    );
  };
  return (
    <>
      <Select
        aria-label="Drawn"
        value={chart.mark === "count" ? "count" : `${chart.mark} ${chart.y}`}
        options={up}
        onValue={draw}
      />
      <span class="muted">by</span>
      <Select
        aria-label="Across"
        value={chart.x}
        options={offered.x}
        onValue={(x) => onChart({ ...chart, x })}
      />
      {offered.colour.length > 0 && (
        <Select
          aria-label="Told apart by"
          value={chart.colour ?? ""}
          options={[
            ["", "one colour"],
            ...offered.colour.map((name) => [name, `coloured by ${name}`] as const),
          ]}
          onValue={(colour) => onChart({ ...chart, colour: colour === "" ? null : colour })}
        />
      )}
    </>
  );
}

interface PictureProps {
  readonly chart: ResultChart;
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Observable Plot comes with the first picture: most pages draw none. */
function Picture({ chart, columns, rows }: PictureProps): JSX.Element {
  const [plot, setPlot] = useState<typeof import("@observablehq/plot") | null>(null);
  const { host, width } = useWidth();
  useEffect(() => {
    import("@observablehq/plot").then(setPlot);
  }, []);
  useEffect(() => {
    if (plot === null || width === 0) return;
    host.current?.replaceChildren(drawResults(plot, { chart, columns, rows, width }));
  }, [plot, chart, columns, rows, width]);
  return <div ref={host} class="result-plot" />;
}
