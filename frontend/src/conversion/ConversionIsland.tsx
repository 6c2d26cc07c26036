import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Conversion, PlanOperator, Problem, Unregistered } from "../api/documents";
import { answered, client, explainError, Refusal } from "../api/request";
import { ChartHost } from "../charts/ChartHost";
import { createOperatorTree, type OperatorTreeData } from "../charts/graphs/operatorTree";
import { Button } from "../ui/Button";
import { submits, TextField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { ScrollText } from "../ui/table/ScrollText";
import { ExampleButtons } from "./ExampleButtons";
import { MissingTables } from "./MissingTables";
import { OpenLink } from "./OpenLink";
import { Problems } from "./Problems";
import { layoutPlan } from "./planTree";
import { WholePane } from "./WholePane";

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
              <OpenLink
                sql={join.sql}
                text="Open in the editor"
                title="Open as a new query, to add windows"
              />
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
  const [duration, setDuration] = useState("1 HOUR");
  /** With the text and the window that it is of. */
  const [converted, setConverted] = useState<{
    readonly sql: string;
    readonly duration: string;
    readonly conversion: Conversion;
  } | null>(null);
  const [missing, setMissing] = useState<Unregistered | null>(null);
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [reason, setReason] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [marked, setMarked] = useState<string | null>(null);

  const convert = async (text: string): Promise<void> => {
    setBusy(true);
    setProblems([]);
    setReason(null);
    setMissing(null);
    try {
      const lacking = await answered(client.POST("/api/sql/unregistered/", { body: { sql: text } }));
      if (lacking.tables.length > 0) {
        setConverted(null);
        setMissing(lacking);
        return;
      }
      setConverted({
        sql: text,
        duration,
        conversion: await answered(
          client.POST("/api/sql/convert/", { body: { sql: text, name: "", window: duration } }),
        ),
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
        streams that are registered here. It becomes one query over streams, which can be deployed. Its inner
        joins become multi-way joins without intermediate results; each can be opened as a query of its own.
      </p>
      <ExampleButtons
        disabled={busy}
        onChoose={(text) => {
          setSql(text);
          void convert(text);
        }}
      />
      <form onSubmit={submits(() => void convert(sql))}>
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
          <TextField
            label="Window of each stream"
            help="Of streams without a window; also the length of buckets. Each can be changed in the editor."
            value={duration}
            maxLength={64}
            autocomplete="off"
            onValue={setDuration}
          />
          <Button type="submit" kind="primary" disabled={busy || sql.trim() === ""}>
            Convert
          </Button>
        </div>
      </form>
      <div aria-live="polite">
        <ProblemLine text={reason} />
        <Problems label="Problems" problems={problems} />
      </div>
      {missing !== null && <MissingTables missing={missing} />}
      {converted !== null && (
        <>
          {(converted.sql !== sql || converted.duration !== duration) && (
            <p class="notice" role="status">
              For the text before the last change.
            </p>
          )}
          <WholePane whole={converted.conversion.whole} />
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
