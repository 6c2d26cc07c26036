import type { JSX } from "preact";
import { answered, client } from "../../api/request";
import { hitRateText } from "../../plan/hitRate";
import { useLoaded } from "../../ui/useLoaded";

/** How much such a forecast is worth: how often earlier ones held, in all topologies. */
export function HitRateLine(): JSX.Element | null {
  const { value } = useLoaded(() =>
    answered(client.GET("/api/forecasts/", { params: { query: { topology: "", limit: 1 } } })),
  );
  return value === null ? null : <p class="muted small">Until now, {hitRateText(value)}.</p>;
}
