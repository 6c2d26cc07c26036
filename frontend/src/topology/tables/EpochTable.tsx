import type { JSX } from "preact";
import { bytes, count, instant, milliseconds } from "../../format/quantities";
import type { EpochRow } from "../../plan/epochs";
import { ScrollArea } from "../../ui/table/ScrollArea";

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
        <thead>
          <tr>
            <th scope="col">Since (UTC)</th>
            <th scope="col">Cause</th>
            <th scope="col">Plan</th>
            <th scope="col" class="number">
              Epoch
            </th>
            <th scope="col" class="number">
              From batch
            </th>
            <th scope="col" class="number" title="over the batches that the page still holds">
              Time per batch
            </th>
            <th scope="col" class="number">
              Tuples in
            </th>
            <th scope="col" class="number">
              Results
            </th>
            <th scope="col" class="number">
              p99
            </th>
            <th scope="col" class="number">
              State
            </th>
            <th scope="col">
              <span class="visually-hidden">Show</span>
            </th>
          </tr>
        </thead>
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
