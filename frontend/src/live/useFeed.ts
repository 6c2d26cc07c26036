import { useEffect, useState } from "preact/hooks";
import { openFeed, type Connection } from "./feed";
import type { BatchCompleted, Snapshot } from "./messages";
import { remember } from "./recent";

export interface Live {
  readonly snapshot: Snapshot | null;
  readonly recent: readonly BatchCompleted[];
  readonly connection: Connection;
  /** When the newest message came, by this browser's clock. */
  readonly heardAt: number | null;
}

/** The live state of one topology, for as long as the component is shown. */
export function useFeed(topology: string): Live {
  const [live, setLive] = useState<Live>({ snapshot: null, recent: [], connection: { kind: "connecting" }, heardAt: null });
  useEffect(() => {
    const feed = openFeed(
      topology,
      (snapshot) => setLive((before) => ({ ...before, snapshot, recent: remember(before.recent, snapshot.batch), heardAt: Date.now() })),
      (connection) => setLive((before) => ({ ...before, connection })),
    );
    return () => feed.close();
  }, [topology]);
  return live;
}
