import type { JSX } from "preact";
import type { Me } from "../api/documents";
import { answered, client } from "../api/request";
import { count } from "../format/quantities";
import { useLoaded } from "./useLoaded";

/**
 * What one has of everything that is counted, and how much there may be; nothing for those whom no quota
 * holds.
 */
export function QuotaLine(): JSX.Element | null {
  const me = useLoaded(() => answered(client.GET("/api/me/")));
  const text = me.value === null ? "" : quotaText(me.value.quotas);
  return text === "" ? null : <p class="muted quota">Yours: {text}. An operator can raise a limit.</p>;
}

/** "3 of 5 topologies, 12 of 500 queries": what has a limit, in the server's order. */
export function quotaText(quotas: Me["quotas"]): string {
  return quotas
    .flatMap(({ resource, used, limit }) =>
      limit === null ? [] : [`${count(used)} of ${count(limit)} ${resource}`],
    )
    .join(", ");
}
