import { useEffect, useState } from "preact/hooks";
import type { StreamDocument } from "../api/documents";

/** Entry counts of all streams at one moment. */
interface Counted {
  readonly at: number;
  readonly entries: ReadonlyMap<string, number>;
}

export interface Counts {
  readonly before: Counted | null;
  readonly now: Counted | null;
}

/** Entries per second between the two newest counts; null if unknown or if the stream was trimmed between. */
export function entryRate({ before, now }: Counts, stream: string): number | null {
  const [first, last] = [before?.entries.get(stream), now?.entries.get(stream)];
  if (
    before === null ||
    now === null ||
    first === undefined ||
    last === undefined ||
    last < first ||
    now.at <= before.at
  )
    return null;
  return ((last - first) * 1000) / (now.at - before.at);
}

export function useEntryRates(streams: readonly StreamDocument[] | null): Counts {
  const [counts, setCounts] = useState<Counts>({ before: null, now: null });
  useEffect(() => {
    if (streams === null) return;
    const entries = new Map(
      streams.flatMap((stream): [string, number][] =>
        stream.entries === null ? [] : [[stream.name, stream.entries]],
      ),
    );
    setCounts((last) => ({ before: last.now, now: { at: Date.now(), entries } }));
  }, [streams]);
  return counts;
}
