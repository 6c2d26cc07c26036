import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Conversion, PlanOperator, Problem } from "../api/documents";
import { answered, client, explainError, Refusal } from "../api/request";
import { ChartHost } from "../charts/ChartHost";
import { createOperatorTree, type OperatorTreeData } from "../charts/graphs/operatorTree";
import { shareLink } from "../editor/text/share";
import { Button } from "../ui/Button";
import { submits } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { ScrollText } from "../ui/table/ScrollText";
import { layoutPlan } from "./planTree";

const EXAMPLE = "SELECT … FROM (SELECT … FROM a JOIN b ON …) AS t JOIN c ON … WHERE …";

interface PlanProps {
  readonly title: string;
  readonly operators: readonly PlanOperator[];
  readonly marked: string | null;
  readonly onHover: (join: string | null) => void;
}

function Plan({ title, operators, marked, onHover }: PlanProps): JSX.Element {
  const placed = useMemo(() => layoutPlan(operators), [operators]);
  const data = useMemo(
    (): OperatorTreeData => ({ placed, label: title, marked, onHover }),
    [placed, title, marked, onHover],
  );
  return (
    <section class="pane plan-tree">
      <h2>{title}</h2>
      <ScrollArea class="operators-scroll" label={`${title}, scrollable`}>
        <ChartHost create={createOperatorTree} data={data} class="operators-host" label={title} />
      </ScrollArea>
    </section>
  );
}

function Joins({ conversion }: { readonly conversion: Conversion }): JSX.Element {
  if (conversion.joins.length === 0)
    return <p class="empty">No tree of three or more inner joins: the plan stays as it is.</p>;
  return (
    <>
      {conversion.joins.map((join) => (
        <section key={join.name}>
          <div class="toolbar">
            <h3>
              {join.name}: {join.inputs.join(", ")}
            </h3>
            {join.subqueries.length === 0 && (
              <a
                class="button small"
                href={shareLink(window.location.origin, "/queries/new/", {
                  sql: join.sql,
                  name: "",
                  description: "",
                })}
                title="Open as a new query, to add windows"
              >
                Open in the editor
              </a>
            )}
          </div>
          {join.subqueries.length > 0 && (
            <p class="muted">
              Waits until {join.subqueries.map((subquery) => subquery.name).join(", ")} is complete: an
              aggregate is no stream of tuples.
            </p>
          )}
          <ScrollText text={join.sql} />
        </section>
      ))}
      <h3>The rest, over their results</h3>
      <ScrollText text={conversion.rest} />
    </>
  );
}

/** A query of nested joins: its plan of binary joins beside the plan of multi-way joins. */
export function ConversionIsland(): JSX.Element {
  const [sql, setSql] = useState("");
  /** With the text that it is of. */
  const [converted, setConverted] = useState<{
    readonly sql: string;
    readonly conversion: Conversion;
  } | null>(null);
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [reason, setReason] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [marked, setMarked] = useState<string | null>(null);

  const convert = async (): Promise<void> => {
    setBusy(true);
    setProblems([]);
    setReason(null);
    try {
      setConverted({
        sql,
        conversion: await answered(client.POST("/api/sql/convert/", { body: { sql, name: "" } })),
      });
    } catch (error) {
      setConverted(null);
      const found = error instanceof Refusal ? error.problems : [];
      setProblems(found);
      setReason(found.length > 0 ? null : explainError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="conversion">
      <p class="muted">
        A query that joins two at a time, with subqueries and aggregates as other systems write it, over the
        streams that are registered here. Its inner joins become multi-way joins without intermediate results;
        each can be opened as a query of its own.
      </p>
      <form onSubmit={submits(() => void convert())}>
        <label class="field">
          <span>SQL with joins in any nesting</span>
          <textarea
            rows={10}
            spellcheck={false}
            placeholder={EXAMPLE}
            value={sql}
            onInput={(event) => setSql(event.currentTarget.value)}
          />
        </label>
        <div class="toolbar">
          <Button type="submit" kind="primary" disabled={busy || sql.trim() === ""}>
            Convert
          </Button>
        </div>
      </form>
      <div aria-live="polite">
        <ProblemLine text={reason} />
        {problems.length > 0 && (
          <ul class="problems" aria-label="Problems">
            {problems.map((problem) => (
              <li key={`${problem.code} ${problem.line} ${problem.column}`}>
                <span class="place">
                  {problem.line === null ? "query" : `${problem.line}:${problem.column ?? 1}`}
                </span>{" "}
                found <code>{problem.found}</code>, expected {problem.expected}
                {problem.suggestion !== null && (
                  <>
                    ; did you mean <code>{problem.suggestion}</code>?
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
      {converted !== null && (
        <>
          {converted.sql !== sql && (
            <p class="notice" role="status">
              For the text before the last change.
            </p>
          )}
          <div class="plans">
            <Plan
              title="Before: binary joins"
              operators={converted.conversion.before}
              marked={marked}
              onHover={setMarked}
            />
            <Plan
              title="After: multi-way joins"
              operators={converted.conversion.after}
              marked={marked}
              onHover={setMarked}
            />
          </div>
          <Joins conversion={converted.conversion} />
        </>
      )}
    </section>
  );
}
