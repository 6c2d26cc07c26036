import type { JSX } from "preact";
import type { CostTable } from "../api/documents";
import { answered, client } from "../api/request";
import { bytes, coresText, percent } from "../format/quantities";
import { Fact } from "../ui/Fact";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { LongTable, type SortedColumn } from "../ui/table/LongTable";
import { useAddress } from "../ui/useAddress";
import { useLoaded } from "../ui/useLoaded";
import { Budgets } from "./Budgets";
import { money } from "./money";

const REFRESH_MS = 10_000;
const BY = { query: "By query", team: "By team", stream: "By stream" } as const;
type By = keyof typeof BY;
const NAMES = Object.keys(BY) as By[];
const OTHERS = "queries of other teams";

type Row = CostTable["rows"][number];

/** What everything that runs takes now, and who it is for: parts that add up to the whole. */
export function CostsIsland(): JSX.Element {
  const [asked, setAsked] = useAddress("by");
  const by = NAMES.find((name) => name === asked) ?? "query";
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/costs/", { params: { query: { by } } })),
    REFRESH_MS,
    by,
  );
  return (
    <section class="costs">
      <div class="toolbar">
        <fieldset class="group views" aria-label="Divided">
          {NAMES.map((name) => (
            <button
              key={name}
              type="button"
              class="tag"
              aria-pressed={name === by}
              onClick={() => setAsked(name === "query" ? null : name)}
            >
              {BY[name]}
            </button>
          ))}
        </fieldset>
        <span class="grow" />
        <a class="button" href={`/api/costs/download/?by=${by}`} download>
          Download as CSV
        </a>
      </div>
      {value === null ? <Loading problem={problem} /> : <Shown by={by} table={value} problem={problem} />}
      <Budgets />
    </section>
  );
}

interface ShownProps {
  readonly by: By;
  readonly table: CostTable;
  readonly problem: string | null;
}

function Shown({ by, table, problem }: ShownProps): JSX.Element {
  const { total, unmeasured, currency } = table;
  return (
    <>
      <ProblemLine text={problem} />
      {unmeasured.length > 0 && (
        <p class="muted" role="status">
          Not counted yet: {unmeasured.join(", ")}. What a job takes is known after its second epoch.
        </p>
      )}
      {table.rows.length === 0 ? (
        <p class="empty">
          Nothing that was measured runs. <a href="/queries/">Deploy a query</a>: what it takes appears here.
        </p>
      ) : (
        <>
          <dl class="numbers">
            <Fact
              label="cores"
              value={coresText(total.cores)}
              title="Processor seconds per second of all jobs, Spark's own processes with them, over the newest epoch"
            />
            <Fact label="in stores" value={bytes(total.bytes)} title="Bytes that all stores hold" />
            {total.month !== null && (
              <Fact
                label="a month"
                value={money(total.month, currency)}
                title={`730 hours at ${priceText(table)}`}
              />
            )}
          </dl>
          <LongTable
            caption={`Costs ${BY[by].toLowerCase()}`}
            columns={columnsOf(by, table)}
            rows={table.rows}
            rowKey={(row) => `${row.topology} ${row.name}`}
            text={(row) => [nameOf(row), row.topology, row.team, row.owner].join("\n")}
          />
          <p class="muted small">
            A store or a step falls evenly on all queries that need it, what is for none of them in particular
            on all: what a query adds, averaged over all orders in which they could have come.
            {total.month === null &&
              " Money is shown once an operator has set what a core and a GB cost (MILLRACE_PRICE_CORE_HOUR)."}
          </p>
        </>
      )}
    </>
  );
}

function priceText({ core_hour, gb_hour, currency }: CostTable): string {
  return [
    ...(core_hour === null ? [] : [`${currency} ${core_hour} a core and hour`]),
    ...(gb_hour === null ? [] : [`${currency} ${gb_hour} a GB and hour`]),
  ].join(", ");
}

/** Only a team may have no name: queries may be of none. */
function nameOf({ name }: Row): string {
  return name ?? "no team";
}

function Name({ by, row }: { readonly by: By; readonly row: Row }): JSX.Element {
  const { name, query } = row;
  if (query !== null)
    return (
      <a class="row-link" href={`/queries/${query}/`}>
        {name}
      </a>
    );
  if (by === "stream" && name !== null && name !== OTHERS)
    return (
      <a class="row-link" href={`/streams/${encodeURIComponent(name)}/`}>
        {name}
      </a>
    );
  return <span class={name === null || name === OTHERS ? "muted" : ""}>{nameOf(row)}</span>;
}

function columnsOf(by: By, { total, currency }: CostTable): readonly SortedColumn<Row>[] {
  const ofQuery: readonly SortedColumn<Row>[] = [
    {
      label: "Topology",
      value: (row) => row.topology,
      cell: ({ topology }) =>
        topology === null ? "" : <a href={`/topologies/${encodeURIComponent(topology)}/`}>{topology}</a>,
    },
    { label: "Team", value: (row) => row.team, cell: (row) => row.team ?? "" },
    { label: "Owner", value: (row) => row.owner, cell: (row) => row.owner ?? "" },
  ];
  const ofMoney: SortedColumn<Row> = {
    label: "A month",
    short: "a month",
    kind: "number",
    title: "if it went on like this",
    value: (row) => row.month,
    cell: (row) => money(row.month, currency),
  };
  return [
    {
      label: { query: "Query", team: "Team", stream: "Stream" }[by],
      names: true,
      value: (row) => nameOf(row),
      cell: (row) => <Name by={by} row={row} />,
    },
    ...(by === "query" ? ofQuery : []),
    {
      label: "Cores",
      kind: "number",
      title: "processor seconds per second, over the newest epoch",
      value: (row) => row.cores,
      cell: (row) => coresText(row.cores),
    },
    {
      label: "Of all",
      short: "of all",
      kind: "number",
      title: "its share of all cores",
      value: (row) => row.cores,
      cell: (row) => percent(total.cores > 0 ? row.cores / total.cores : null),
    },
    {
      label: "In stores",
      short: "in stores",
      kind: "number",
      title: "its part of what the stores hold",
      value: (row) => row.bytes,
      cell: (row) => bytes(row.bytes),
    },
    ...(total.month === null ? [] : [ofMoney]),
  ];
}
