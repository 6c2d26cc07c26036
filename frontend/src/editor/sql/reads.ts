/** What a valid text reads, and for how long each tuple is kept. */
import type { Validation } from "../../api/documents";
import { windowLength } from "../../format/quantities";

/** `weather as w (unbounded, kept 1 h: d.at <= w.at + INTERVAL '1' HOUR)`, or the window alone. */
export function readsText({ inputs, retentions }: Pick<Validation, "inputs" | "retentions">): string {
  const kept = new Map(retentions.map((one) => [one.alias, one]));
  return inputs
    .map(({ alias, stream, window_ms }) => {
      const less = kept.get(alias);
      const because = less && `, kept ${windowLength(less.kept_ms)}: ${less.because.join(" and ")}`;
      return `${stream} as ${alias} (${windowLength(window_ms)}${because ?? ""})`;
    })
    .join(", ");
}
