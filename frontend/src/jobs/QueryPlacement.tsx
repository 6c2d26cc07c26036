import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, at, client } from "../api/request";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { submits } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { type Column, Table } from "../ui/table/Table";
import { useRequest } from "../ui/useRequest";

interface Props {
  readonly topology: TopologyDocument;
  /** All there are, by name. */
  readonly topologies: readonly string[];
  readonly operator: boolean;
  readonly onDone: () => void;
}

type Query = TopologyDocument["queries"][number];

/** Which topology answers each query: pinned by an operator, or wherever the optimizer puts it. */
export function QueryPlacement({ topology, topologies, operator, onDone }: Props): JSX.Element {
  const [moving, setMoving] = useState<{ query: Query; target: string } | null>(null);
  const { busy, problem, send } = useRequest();
  const pin = (query: Query, target: string | null): void =>
    send(
      answered(client.PUT("/api/queries/{id}/pin/", { ...at({ id: query.id }), body: { topology: target } })),
      onDone,
    );
  const choose = (query: Query, target: string): void => {
    if (target === "") pin(query, null);
    else if (target === topology.name) pin(query, target);
    else setMoving({ query, target });
  };
  const columns: readonly Column<Query>[] = [
    { label: "Query", cell: (query) => <a href={`/queries/${query.id}/`}>{query.name}</a> },
    { label: "Version", kind: "number", cell: (query) => query.version },
    {
      label: "Answered by",
      short: "answered by",
      cell: (query) => (
        <TargetChoice
          query={query}
          topology={topology.name}
          topologies={topologies}
          off={busy || !operator}
          why={operator ? undefined : "Only operators may do this."}
          onChoose={(target) => choose(query, target)}
        />
      ),
    },
  ];
  if (topology.queries.length === 0) return <p class="empty">It runs no queries.</p>;
  return (
    <>
      <p class="muted small">
        A pinned query stays in its topology in every version. Without a pin, a query that is not running is
        deployed to the topology that already stores most of its streams.
      </p>
      <ProblemLine text={problem} />
      <ScrollArea label={`Queries of ${topology.name}`}>
        <Table columns={columns} rows={topology.queries} rowKey={(query) => query.id} />
      </ScrollArea>
      {moving !== null && (
        <ConfirmDialog
          title={`Move ${moving.query.name} to ${moving.target}?`}
          confirm="Move it"
          onClose={() => setMoving(null)}
          onConfirm={() => {
            setMoving(null);
            pin(moving.query, moving.target);
          }}
        >
          <p>
            {topology.name} stops answering it after the running batch. {moving.target} answers it as soon as
            it is planned there; its results are complete once the stores there hold the streams' windows.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** No topology can be called so. */
const ANOTHER = "?";

interface ChoiceProps {
  readonly query: Query;
  readonly topology: string;
  readonly topologies: readonly string[];
  readonly off: boolean;
  readonly why: string | undefined;
  readonly onChoose: (target: string) => void;
}

function TargetChoice({ query, topology, topologies, off, why, onChoose }: ChoiceProps): JSX.Element {
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  // A pin may name a topology that has no query yet and so is in no list.
  const names =
    query.pinned === null || topologies.includes(query.pinned) ? topologies : [...topologies, query.pinned];
  const label = `Which topology answers ${query.name}`;
  if (naming) {
    return (
      <form
        class="inline"
        onSubmit={submits(() => {
          setNaming(false);
          onChoose(name);
        })}
      >
        <input
          type="text"
          aria-label={`Name of the new topology for ${query.name}`}
          required
          pattern="[a-z][a-z0-9_\-]{0,62}"
          title="lower-case letters, digits, _ and -, starting with a letter"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" small>
          Pin
        </Button>
        <Button small onClick={() => setNaming(false)}>
          Cancel
        </Button>
      </form>
    );
  }
  return (
    <select
      aria-label={label}
      disabled={off}
      title={why}
      value={query.pinned ?? ""}
      onChange={(event) => {
        const { value } = event.currentTarget;
        // What is shown is what is so; the answer of the server changes it.
        event.currentTarget.value = query.pinned ?? "";
        if (value === ANOTHER) setNaming(true);
        else onChoose(value);
      }}
    >
      <option value="">let the optimizer decide (now {topology})</option>
      {names.map((one) => (
        <option key={one} value={one}>
          {one === topology ? `pinned here, to ${one}` : `pinned to ${one}`}
        </option>
      ))}
      <option value={ANOTHER}>a new topology…</option>
    </select>
  );
}
