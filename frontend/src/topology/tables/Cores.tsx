import type { JSX } from "preact";
import { coresText, ratio } from "../../format/quantities";
import type { CoreUse } from "../../live/messages";

export const ESTIMATED_CORES =
  "processor seconds per second of the clock that the newest epoch was expected to take; m: thousandths";
export const MEASURED_CORES =
  "what tasks took for it over the newest epoch; red where that is more than 1.5 times off";

/** Measured cores over estimated ones, and the reason where they are far apart. */
export function Cores({ use }: { use: CoreUse | null }): JSX.Element {
  if (use === null) return <>{coresText(null)}</>;
  const { estimated, measured, reason } = use;
  return (
    <>
      {coresText(measured)}
      {estimated !== null && (
        <div class={reason === "" ? "small muted" : "small far-off"}>
          {ratio(measured, estimated)}
          {reason !== "" && `: ${reason}`}
        </div>
      )}
    </>
  );
}
