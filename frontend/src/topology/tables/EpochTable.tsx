import type { JSX } from "preact";
import { answered, client } from "../../api/request";
import { bytes, count, instant, milliseconds, rate } from "../../format/quantities";
import type { EpochRow } from "../../plan/epochs";
import { Button } from "../../ui/Button";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { type Column, Table } from "../../ui/table/Table";
import { useLoaded } from "../../ui/useLoaded";

const REFRESH_MS = 10_000;

interface Props {
  readonly name: string;
  readonly rows: readonly EpochRow[];
  readonly running: string | null;
  /** The past plan that the page shows; null for the running one. */
  readonly past: string | null;
  readonly onChoose: (planId: string | null) => void;
}

/** Every switch with its cause and what the batches under it did; any of them can be looked at again. */
export function EpochTable({ name, rows, running, past, onChoose }: Props): JSX.Element {
  const savings = useLoaded(
    () => answered(client.GET("/api/topologies/{name}/savings/", { params: { path: { name } } })),
    REFRESH_MS,
    name,
  );
  const saving = (planId: string) => savings.value?.find((one) => one.plan_id === planId);
  const columns: readonly Column<EpochRow>[] = [
    { label: "Since (UTC)", class: "instant", cell: (row) => instant(row.at) },
    { label: "Cause", class: "cause", cell: (row) => row.cause },
    {
      label: "To save",
      kind: "number",
      title: "of cost, as tuples sent per second of event time, by the statistics of the switch",
      cell: ({ planId }) => rate(saving(planId)?.predicted_saving),
    },
    {
      label: "Saved",
      kind: "number",
      title: "what came about on average, from the first epoch a whole window behind the switch on",
      cell: ({ planId }) => rate(saving(planId)?.actual_saving),
    },
    { label: "Plan", class: "mono plan-id", cell: (row) => row.planId },
    { label: "Epoch", kind: "number", cell: (row) => row.epoch },
    { label: "From batch", kind: "number", cell: (row) => row.batch },
    {
      label: "Time per batch",
      short: "per batch",
      kind: "number",
      title: "over the batches that the page still holds",
      cell: (row) => milliseconds(row.secondsPerBatch === null ? null : row.secondsPerBatch * 1000),
    },
    {
      label: "Pause",
      kind: "number",
      title:
        "how long the first batch waited until stores were ready for the plan, and tuples copied for that",
      cell: ({ pauseSeconds, moved }) => (
        <>
          {milliseconds(pauseSeconds === null ? null : pauseSeconds * 1000)}
          {moved !== null && moved > 0 && <div class="small muted">{count(moved)} moved</div>}
        </>
      ),
    },
    { label: "Tuples in", short: "in", kind: "number", cell: (row) => count(row.tuplesIn) },
    { label: "Results", kind: "number", cell: (row) => count(row.results) },
    { label: "p99", kind: "number", cell: (row) => milliseconds(row.latencyP99Ms) },
    { label: "State", kind: "number", cell: (row) => bytes(row.stateBytes) },
    {
      label: "Show",
      hidden: true,
      cell: ({ planId }) =>
        planId === running ? (
          <span class="muted">runs now</span>
        ) : (
          <Button
            small
            aria-pressed={planId === past}
            onClick={() => onChoose(planId === past ? null : planId)}
          >
            Look at it
          </Button>
        ),
    },
  ];
  if (rows.length === 0)
    return (
      <p class="empty">
        One plan since the start. A switch appears here when queries change or a better plan is found.
      </p>
    );
  return (
    <ScrollArea label="Epochs">
      <Table
        columns={columns}
        rows={rows}
        rowKey={({ epoch, batch, planId }) => `${epoch}-${batch}-${planId}`}
      />
    </ScrollArea>
  );
}
