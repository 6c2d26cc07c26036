import { answered, client } from "../api/request";
import { type Loaded, useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 10_000;

/** Cores that each query of a topology takes, by its number, as the newest epoch measured it; of none for null. */
export function useMeasuredCosts(topology: string | null, key: unknown = null): Loaded<Map<number, number>> {
  return useLoaded(
    async () => {
      if (topology === null) return new Map();
      const query = { by: "query", topology } as const;
      const { rows } = await answered(client.GET("/api/costs/", { params: { query } }));
      return new Map(rows.flatMap((row) => (row.query === null ? [] : [[row.query, row.cores]])));
    },
    topology === null ? null : REFRESH_MS,
    `${topology} ${key}`,
  );
}
