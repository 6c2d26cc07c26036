import { useState } from "preact/hooks";
import { type Entry, readHistory, remember } from "./entries";

export interface ShownHistory {
  /** Null while it is closed. */
  readonly entries: readonly Entry[] | null;
  readonly toggle: () => void;
  readonly add: (action: Entry["action"], name: string, sql: string) => void;
}

/** Earlier texts, and whether the page shows them. */
export function useTextHistory(): ShownHistory {
  const [entries, setEntries] = useState<readonly Entry[] | null>(null);
  return {
    entries,
    toggle: () => setEntries(entries === null ? readHistory() : null),
    add: (action, name, sql) => {
      const all = remember({ at: new Date().toISOString(), action, name, sql });
      setEntries((shown) => (shown === null ? null : all));
    },
  };
}
