import type { JSX } from "preact";
import { bytes, count, milliseconds, rate } from "../format/quantities";
import type { Live } from "../live/useFeed";
import type { PhysicalGraph } from "../plan/physicalGraph";
import { stepRows, type Compared } from "../plan/steps";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
}

const KINDS = { shuffle: "one task", group_by: "by key", all: "all tasks" } as const;
/** From here on an estimate is called wrong rather than rough. */
const FAR_OFF = 10;

/** How far an estimate is from what happened, as a number and for a glance. */
export function QError({ value }: { value: number | null }): JSX.Element {
  return <span class={value !== null && value >= FAR_OFF ? "far-off" : ""}>{value === null ? "–" : `×${value < 100 ? value.toFixed(1) : count(value)}`}</span>;
}

function Rates({ compared, name }: { compared: Compared; name: string }): JSX.Element {
  return (
    <>
      <td class="number" data-label={`${name} estimated`}>{rate(compared.estimated)}</td>
      <td class="number" data-label={`${name} actual`}>{rate(compared.actual)}</td>
      <td class="number" data-label="off by"><QError value={compared.qError} /></td>
    </>
  );
}

/** One row per step of the probe orders: what it was sent in the newest batch, and estimates beside actuals. */
export function StepTable({ graph, live }: Props): JSX.Element {
  const batch = live.snapshot?.batch ?? null;
  const levels = batch?.level_seconds ?? [];
  return (
    <>
      <p class="muted small" title="the slowest task of each level, in the newest batch">
        {levels.length === 0 ? "No batch yet." : levels.map((seconds, level) => `${level === 0 ? "ingestion" : `level ${level}`} ${milliseconds(seconds * 1000)}`).join(" · ")}
      </p>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Steps">
        <table class="list stack">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" class="number">Level</th>
              <th scope="col">Sent to</th>
              <th scope="col" class="number" title="in the newest batch, before copies">Tuples</th>
              <th scope="col" class="number" title="in the newest batch">Messages</th>
              <th scope="col" class="number" title="in the newest batch, before copies">Bytes</th>
              <th scope="col" class="number" title="what the plan was chosen for, per second of event time">Sent: estimated</th>
              <th scope="col" class="number" title="over the newest epoch, per second of event time">actual</th>
              <th scope="col" class="number" title="q-error: the larger over the smaller">off by</th>
              <th scope="col" class="number" title="what the plan was chosen for, per second of event time">Found: estimated</th>
              <th scope="col" class="number" title="over the newest epoch, per second of event time">actual</th>
              <th scope="col" class="number" title="q-error: the larger over the smaller">off by</th>
            </tr>
          </thead>
          <tbody>
            {stepRows(graph, batch, live.snapshot?.statistics ?? null).map((row) => (
              <tr key={row.id} data-step={row.id}>
                <td>{row.from} <span class="muted">{row.what === "stores" ? "stored in" : "probes"}</span> {row.to}</td>
                <td class="number" data-label="level">{row.level}</td>
                <td data-label="sent to">{KINDS[row.kind]}</td>
                <td class="number" data-label="tuples">{count(row.tuples)}</td>
                <td class="number" data-label="messages">{count(row.messages)}</td>
                <td class="number" data-label="bytes">{bytes(row.bytes)}</td>
                <Rates compared={row.sent} name="sent" />
                <Rates compared={row.made} name="found" />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
