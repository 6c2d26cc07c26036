import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyTasks } from "../api/documents";
import { answered, at, client } from "../api/request";
import { count } from "../format/quantities";
import { Button } from "../ui/Button";
import { submits } from "../ui/fields";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useRequest } from "../ui/useRequest";
import { changesOf, fieldsOf, MOST_TASKS, type TaskFields } from "./taskForm";

const REFRESH_MS = 5000;

interface Props {
  readonly topology: string;
  readonly operator: boolean;
  readonly onDone: () => void;
}

/** Over how many tasks each stream's stores are spread, what was set, and a form to set it. */
export function ScaleForm({ topology, operator, onDone }: Props): JSX.Element {
  const tasks = useLoaded(
    () => answered(client.GET("/api/topologies/{name}/tasks/", at({ name: topology }))),
    REFRESH_MS,
    topology,
  );
  const [typed, setTyped] = useState<TaskFields>({});
  const [asked, setAsked] = useState(false);
  const { busy, problem, send } = useRequest();
  const { value } = tasks;
  if (value === null) return <Loading problem={tasks.problem} />;
  const fields = { ...fieldsOf(value), ...typed };
  const found = changesOf(value, fields);
  const scale = (): void => {
    setAsked(false);
    send(
      answered(
        client.PUT("/api/topologies/{name}/tasks/", {
          ...at({ name: topology }),
          body: { tasks: found.changes },
        }),
      ),
      () => {
        setTyped({});
        setAsked(true);
        tasks.reload();
        onDone();
      },
    );
  };
  const columns: readonly Column<TopologyTasks["streams"][number]>[] = [
    { label: "Stream", cell: ({ stream }) => stream },
    { label: "Tasks now", kind: "number", cell: ({ tasks: now }) => count(now) },
    {
      label: "Set to",
      short: "set to",
      cell: ({ stream }) => (
        <input
          type="number"
          class="tasks"
          min={1}
          max={MOST_TASKS}
          step={1}
          placeholder="by load"
          aria-label={`Tasks of ${stream}`}
          disabled={!operator || busy}
          value={fields[stream] ?? ""}
          onInput={(event) => setTyped({ ...typed, [stream]: event.currentTarget.value })}
        />
      ),
    },
  ];
  return (
    <form class="scale" onSubmit={submits(scale)}>
      <p class="muted small">
        A store's tasks run in parallel; each adds a little to every batch. Empty: chosen by load, up to{" "}
        {value.most}. The topology is re-planned and switches between two batches, without stopping; results
        stay the same. The number belongs to the stream: other topologies that read it follow when they are
        next planned.
      </p>
      <ScrollArea label={`Tasks of ${topology}`}>
        <Table columns={columns} rows={value.streams} rowKey={(one) => one.stream} />
      </ScrollArea>
      <ProblemLine text={problem ?? found.problem ?? tasks.problem} />
      {asked && (
        <p class="muted" role="status">
          Requested. The numbers above change when the new plan takes effect.
        </p>
      )}
      <Button
        type="submit"
        disabled={!operator || busy || found.problem !== null || Object.keys(found.changes).length === 0}
        title={operator ? undefined : "Only operators may do this."}
      >
        Scale
      </Button>
    </form>
  );
}
