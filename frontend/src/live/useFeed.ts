import { useEffect, useState } from "preact/hooks";
import { type Connection, openFeed } from "./feed";
import type { BatchCompleted, Snapshot } from "./messages";
import { paced } from "./paced";
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
  const [live, setLive] = useState<Live>({
    snapshot: null,
    recent: [],
    connection: { kind: "connecting" },
    heardAt: null,
  });
  useEffect(() => {
    let known: Live = { snapshot: null, recent: [], connection: { kind: "connecting" }, heardAt: null };
    const screen = paced(setLive);
    const learn = (news: Partial<Live>): void => {
      known = { ...known, ...news };
      screen.push(known);
    };
    const feed = openFeed(
      topology,
      (snapshot) => learn({ snapshot, recent: remember(known.recent, snapshot.batch), heardAt: Date.now() }),
      (connection) => learn({ connection }),
    );
    return () => {
      feed.close();
      screen.end();
    };
  }, [topology]);
  return live;
}
