/** How good forecasts of state have been, in words. */
import type { Forecasts } from "../api/documents";

/** `of 14 forecasts, 12 held (86 %)`; without any it says so. */
export function hitRateText({ judged, held }: Pick<Forecasts, "judged" | "held">): string {
  if (judged === 0) return "no forecast has been compared with actuals yet";
  const percent = Math.round((100 * held) / judged);
  return `of ${judged} forecast${judged === 1 ? "" : "s"}, ${held} held (${percent} %)`;
}
