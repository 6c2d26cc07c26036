import type { JSX } from "preact";
import { bytes, count, instant, milliseconds } from "../../format/quantities";
import type { EpochRow } from "../../plan/epochs";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { TableHead } from "../../ui/table/TableHead";

interface Props {
  readonly rows: readonly EpochRow[];
  readonly running: string | null;
  /** The past plan that the page shows; null for the running one. */
  readonly past: string | null;
  readonly onChoose: (planId: string | null) => void;
}

/** Every switch with its cause and what the batches under it did; any of them can be looked at again. */
export function EpochTable({ rows, running, past, onChoose }: Props): JSX.Element {
  if (rows.length === 0)
    return (
      <p class="empty">
        One plan since the start. A switch appears here when queries change or a better plan is found.
      </p>
    );
  return (
    <ScrollArea label="Epochs">
      <table class="list stack">
        <TableHead
          columns={[
            "Since (UTC)",
            "Cause",
            "Plan",
            { label: "Epoch", class: "number" },
            { label: "From batch", class: "number" },
            { label: "Time per batch", class: "number", title: "over the batches that the page still holds" },
            { label: "Tuples in", class: "number" },
            { label: "Results", class: "number" },
            { label: "p99", class: "number" },
            { label: "State", class: "number" },
            { label: "Show", hidden: true },
          ]}
        />
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.epoch}-${row.batch}-${row.planId}`}>
              <td class="instant">{instant(row.at)}</td>
              <td class="cause">{row.cause}</td>
              <td class="mono plan-id">{row.planId}</td>
              <td class="number" data-label="epoch">
                {row.epoch}
              </td>
              <td class="number" data-label="from batch">
                {row.batch}
              </td>
              <td class="number" data-label="per batch">
                {milliseconds(row.secondsPerBatch === null ? null : row.secondsPerBatch * 1000)}
              </td>
              <td class="number" data-label="in">
                {count(row.tuplesIn)}
              </td>
              <td class="number" data-label="results">
                {count(row.results)}
              </td>
              <td class="number" data-label="p99">
                {milliseconds(row.latencyP99Ms)}
              </td>
              <td class="number" data-label="state">
                {bytes(row.stateBytes)}
              </td>
              <td>
                {row.planId === running ? (
                  <span class="muted">runs now</span>
                ) : (
                  <button
                    type="button"
                    class="button small"
                    aria-pressed={row.planId === past}
                    onClick={() => onChoose(row.planId === past ? null : row.planId)}
                  >
                    Look at it
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
