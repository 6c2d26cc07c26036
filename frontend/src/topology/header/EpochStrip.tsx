import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ChartHost } from "../../charts/ChartHost";
import { createEpochStrip } from "../../charts/epochStrip";
import type { ShownPlan } from "../useShownPlan";
import { EpochScrubber } from "./EpochScrubber";

interface Props {
  readonly shown: ShownPlan;
}

/**
 * Batches, switches and epochs on one axis of time; choosing one shows all of the page as it was then.
 *
 * It has its room before the first batch is known: what stands below would move away from under the pointer.
 */
export function EpochStrip({ shown }: Props): JSX.Element {
  const { past, runningId, showPast, around } = shown;
  const data = useMemo(
    () => ({
      history: around?.history ?? [],
      switches: around?.switches ?? [],
      epochs: around?.epochs ?? [],
      past,
      onChoose: (id: string) => showPast(id === runningId || id === past ? null : id),
    }),
    [around?.history, around?.switches, around?.epochs, past, runningId],
  );
  return (
    <>
      <ChartHost create={createEpochStrip} data={data} class="epoch-host" label="Batches and plan switches" />
      <EpochScrubber
        epochs={data.epochs}
        epoch={shown.epoch}
        onChoose={(point) => showPast(point?.plan_id ?? null, point?.epoch ?? null)}
      />
    </>
  );
}
