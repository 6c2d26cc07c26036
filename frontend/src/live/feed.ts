/**
 * A topology's live state: snapshot first, then events from its last id on.
 *
 * `EventSource` reconnects by itself with `Last-Event-ID`; when the server says `reset`, or the browser
 * gives the connection up, the snapshot is fetched again. Nothing that fails the check at the socket
 * reaches the page: it is reported and the snapshot is fetched again.
 */
import { eventsUrl, readSnapshot } from "../api/endpoints";
import { explainError } from "../api/request";
import { EVENT_TYPES, liveEvent, snapshot, type Snapshot } from "./messages";
import { reduce } from "./reduce";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected" }
  | { readonly kind: "reconnecting"; readonly since: number; readonly reason: string };

export interface Feed {
  close(): void;
}

const RETRY_MS = 3000;

export function openFeed(
  topology: string,
  onState: (state: Snapshot) => void,
  onConnection: (connection: Connection) => void,
): Feed {
  let closed = false;
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | null = null;
  let lostAt: number | null = null;

  const lost = (reason: string): void => {
    lostAt ??= Date.now();
    onConnection({ kind: "reconnecting", since: lostAt, reason });
  };
  const startAgain = (reason: string): void => {
    source?.close();
    source = null;
    if (closed || retry !== null) return;
    lost(reason);
    retry = setTimeout(() => {
      retry = null;
      void start();
    }, RETRY_MS);
  };

  const start = async (): Promise<void> => {
    let state: Snapshot;
    try {
      state = snapshot.parse(await readSnapshot(topology));
    } catch (error) {
      if (!closed) startAgain(explainError(error));
      return;
    }
    if (closed) return;
    onState(state);
    const connection = new EventSource(eventsUrl(topology, state.last_event_id));
    source = connection;
    connection.addEventListener("open", () => {
      lostAt = null;
      onConnection({ kind: "connected" });
    });
    connection.addEventListener("error", () => {
      if (connection.readyState === EventSource.CLOSED) startAgain("the live connection was refused");
      else lost("the live connection broke");
    });
    connection.addEventListener("reset", () => {
      startAgain("the page fell too far behind");
    });
    for (const type of EVENT_TYPES) {
      connection.addEventListener(type, (message: MessageEvent<string>) => {
        try {
          state = reduce(state, message.lastEventId, liveEvent.parse(JSON.parse(message.data)));
        } catch (error) {
          startAgain(`an unreadable live message: ${explainError(error).slice(0, 120)}`);
          return;
        }
        onState(state);
      });
    }
  };

  onConnection({ kind: "connecting" });
  void start();
  return {
    close() {
      closed = true;
      source?.close();
      if (retry !== null) clearTimeout(retry);
    },
  };
}
