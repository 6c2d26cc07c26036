import type { JSX } from "preact";
import type { StreamColour } from "../colour/streams";
import { count, instant, rate, span } from "../format/quantities";
import type { Live } from "../live/useFeed";
import type { PhysicalGraph } from "../plan/physicalGraph";
import { streamRows } from "../plan/steps";
import { StreamChip } from "../ui/StreamChip";

interface Props {
  readonly graph: PhysicalGraph;
  readonly live: Live;
  readonly colour: StreamColour;
}

/** What each stream brings, and how far it is. */
export function StreamTable({ graph, live, colour }: Props): JSX.Element {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Streams">
      <table class="list stack">
        <thead>
          <tr>
            <th scope="col">Stream</th>
            <th scope="col" class="number" title="over the newest epoch, per second of event time">Rate</th>
            <th scope="col" class="number" title="in the newest batch">Accepted</th>
            <th scope="col" class="number" title="in the newest batch: older than the watermark">Late</th>
            <th scope="col" class="number" title="in the newest batch">Undecodable</th>
            <th scope="col" class="number" title="how much older than the newest one a tuple may be">Allowed lateness</th>
            <th scope="col">Newest event (UTC)</th>
            <th scope="col">Watermark (UTC)</th>
          </tr>
        </thead>
        <tbody>
          {streamRows(graph, live.snapshot?.batch ?? null, live.snapshot?.statistics ?? null).map((row) => (
            <tr key={row.name} data-stream={row.name}>
              <td><StreamChip stream={row.name} colour={colour} /></td>
              <td class="number" data-label="rate">{rate(row.rate)}</td>
              <td class="number" data-label="accepted">{count(row.accepted)}</td>
              <td class="number" data-label="late">{count(row.late)}</td>
              <td class="number" data-label="undecodable">{count(row.undecodable)}</td>
              <td class="number" data-label="allowed lateness">{row.latenessMs === 0 ? "none" : span(row.latenessMs)}</td>
              <td data-label="newest event">{instant(row.newest)}</td>
              <td data-label="watermark">{instant(row.watermark)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
