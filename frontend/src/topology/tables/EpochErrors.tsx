import type { JSX } from "preact";
import { count, instant, rate, span } from "../../format/quantities";
import type { EpochPoint } from "../../live/messages";
import type { PhysicalGraph } from "../../plan/physicalGraph";
import { elementLabel } from "../../plan/steps";
import { ScrollArea } from "../../ui/table/ScrollArea";
import { TableHead } from "../../ui/table/TableHead";
import { QError } from "./StepTable";

interface Props {
  readonly epochs: readonly EpochPoint[];
  /** Of the running plan: elements of other plans go by their ids. */
  readonly graph: PhysicalGraph | null;
}

type Worst = NonNullable<EpochPoint["q_error"]>;

function worstText(graph: PhysicalGraph | null, { worst, estimated, actual }: Worst): string {
  const element = graph === null ? worst : elementLabel(graph, worst);
  return `${element}: ${rate(estimated)} estimated, ${rate(actual)} actual`;
}

/**
 * Every epoch that the page still knows, newest first: how far its plan's estimates were from what happened.
 */
export function EpochErrors({ epochs, graph }: Props): JSX.Element {
  if (epochs.length === 0)
    return (
      <p class="empty">
        No epoch has ended yet. Estimates are compared with actuals at the end of each epoch.
      </p>
    );
  return (
    <ScrollArea label="Estimates by epoch">
      <table class="list stack">
        <TableHead
          columns={[
            { label: "Epoch", class: "number" },
            "Ended (UTC)",
            { label: "Batches", class: "number" },
            "Plan",
            { label: "Tuples sent", class: "number", title: "in order to probe, copies included" },
            { label: "Event time", class: "number" },
            {
              label: "Off by: median",
              class: "number",
              title: "q-error over all steps: the larger of estimate and actual over the smaller",
            },
            { label: "most", class: "number" },
            "Furthest off",
          ]}
        />
        <tbody>
          {[...epochs].reverse().map((point) => (
            <tr key={point.epoch} data-epoch={point.epoch}>
              <td class="number" data-label="epoch">
                {point.epoch}
              </td>
              <td class="instant" data-label="ended">
                {instant(point.at)}
              </td>
              <td class="number" data-label="batches">{`${point.first_batch}–${point.last_batch}`}</td>
              <td class="mono plan-id" data-label="plan">
                {point.plan_id}
              </td>
              <td class="number" data-label="sent">
                {count(point.sent)}
              </td>
              <td class="number" data-label="event time">
                {span(point.event_seconds * 1000)}
              </td>
              <td class="number" data-label="off by, median">
                <QError value={point.q_error?.median ?? null} />
              </td>
              <td class="number" data-label="most">
                <QError value={point.q_error?.max ?? null} />
              </td>
              <td>
                {point.q_error === null ? "event time did not advance" : worstText(graph, point.q_error)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
