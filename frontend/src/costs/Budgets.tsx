import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BudgetTable } from "../api/documents";
import { answered, at, client, explainError } from "../api/request";
import { bytes, coresText, percent } from "../format/quantities";
import { Button } from "../ui/Button";
import { submits } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { amountOf, money } from "./money";

const REFRESH_MS = 60_000;

type Row = BudgetTable["teams"][number];

const STANDS = {
  within: null,
  near: <span class="far-off">nearly spent</span>,
  spent: <span class="status status-suspended">spent: its queries are suspended</span>,
} as const;

/** What one's teams have used since the month began, and what they may spend. */
export function Budgets(): JSX.Element | null {
  const { value, problem, reload } = useLoaded(() => answered(client.GET("/api/budgets/")), REFRESH_MS);
  if (value === null) return problem === null ? null : <ProblemLine text={problem} />;
  const [first] = value.teams;
  if (first === undefined) return null;
  const month = new Date(first.first).toLocaleDateString("en", { month: "long", timeZone: "UTC" });
  return (
    <section aria-label="Budgets">
      <h2>Teams in {month}</h2>
      <ProblemLine text={problem} />
      <Table columns={columnsOf(value, reload)} rows={value.teams} rowKey={({ id }) => id} />
      <p class="muted small">
        {first.spent === null
          ? "A budget is money: an operator sets first what a core and a GB cost (MILLRACE_PRICE_CORE_HOUR)."
          : "From 80 % of a budget on alerts tell of it. Once it is spent the team's queries are suspended, but those that an operator allows, until they are deployed again next month or with a larger budget."}
      </p>
    </section>
  );
}

function columnsOf({ currency, can_edit }: BudgetTable, onChange: () => void): readonly Column<Row>[] {
  return [
    { label: "Team", names: true, cell: ({ team }) => team },
    { label: "Core hours", kind: "number", cell: ({ core_hours }) => coresText(core_hours) },
    { label: "GB hours", kind: "number", title: "of stores", cell: ({ byte_hours }) => bytes(byte_hours) },
    { label: "Spent", kind: "number", cell: ({ spent }) => money(spent, currency) },
    {
      label: "Of its budget",
      kind: "number",
      cell: ({ spent, amount }) => percent(spent === null || !amount ? null : spent / amount),
    },
    {
      label: "Budget",
      short: "budget",
      cell: (row) =>
        can_edit && row.spent !== null ? (
          <BudgetForm row={row} currency={currency} onChange={onChange} />
        ) : row.amount === null ? (
          "none"
        ) : (
          `${money(row.amount, currency)} a month`
        ),
    },
    { label: "State", hidden: true, cell: ({ stand }) => (stand === null ? null : STANDS[stand]) },
  ];
}

interface FormProps {
  readonly row: Row;
  readonly currency: string;
  readonly onChange: () => void;
}

function BudgetForm({ row, currency, onChange }: FormProps): JSX.Element {
  const present = row.amount === null ? "" : String(row.amount);
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const set = (): void => {
    setProblem(null);
    const body = { amount: amountOf(typed ?? present) };
    answered(client.PUT("/api/teams/{id}/budget/", { ...at({ id: row.id }), body }))
      .then(
        () => setTyped(null),
        (error: unknown) => setProblem(explainError(error)),
      )
      .finally(onChange);
  };
  return (
    <form class="inline" onSubmit={submits(set)}>
      <input
        type="text"
        class="amount"
        inputMode="decimal"
        aria-label={`${currency} a month for ${row.team}`}
        placeholder="none"
        value={typed ?? present}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <Button type="submit" small disabled={(typed ?? present) === present}>
        Set
      </Button>
      <ProblemLine text={problem} />
    </form>
  );
}
