/**
 * A topology's live state: snapshot first, then events from its last id on.
 *
 * `EventSource` reconnects by itself with `Last-Event-ID`; when the server says `reset`, or the browser
 * gives the connection up, the snapshot is fetched again. Nothing that fails the check at the socket
 * reaches the page: it is reported and the snapshot is fetched again. Whoever is signed out is not tried
 * again until somebody looks; with too many pages open, the snapshot is fetched from time to time. A page
 * that nobody looks at gives its connection back: a browser has six for a whole site.
 */
import { withExactIntegers } from "../api/exactIntegers";
import { at, client, explainError, Refusal, refusalFrom } from "../api/request";
import { EVENT_TYPES, liveEvent, type Snapshot, snapshot } from "./messages";
import { reduce } from "./reduce";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected" }
  | { readonly kind: "reconnecting"; readonly since: number; readonly reason: string }
  /** The account has as many live connections as it may. */
  | { readonly kind: "polling"; readonly seconds: number }
  | { readonly kind: "signed-out" }
  /** Nobody looks at the page. */
  | { readonly kind: "paused" };

export interface Feed {
  close(): void;
}

const RETRY_MS = 3000;
/** A quarter more or less of every wait: pages that lost the server together do not come back together. */
const SPREAD = 0.25;
/** A refusal that does not say when to come back. */
const REFUSED_SECONDS = 10;
export const HIDDEN_MS = 30_000;

export function openFeed(
  topology: string,
  onState: (state: Snapshot) => void,
  onConnection: (connection: Connection) => void,
): Feed {
  let closed = false;
  let paused = false;
  let signedOut = false;
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | null = null;
  let hiding: ReturnType<typeof setTimeout> | null = null;
  let lostAt: number | null = null;
  /** Counts the starts: what an earlier one still waited for is nobody's business any more. */
  let starts = 0;

  const lost = (reason: string): void => {
    lostAt ??= Date.now();
    onConnection({ kind: "reconnecting", since: lostAt, reason });
  };
  const leave = (): void => {
    starts += 1;
    source?.close();
    source = null;
    if (retry !== null) clearTimeout(retry);
    retry = null;
  };
  const later = (milliseconds: number): void => {
    retry = setTimeout(
      () => {
        retry = null;
        void start();
      },
      milliseconds * (1 + SPREAD * Math.random()),
    );
  };
  const startAgain = (reason: string): void => {
    leave();
    if (closed || paused) return;
    lost(reason);
    later(RETRY_MS);
  };
  const signOut = (): void => {
    leave();
    signedOut = true;
    onConnection({ kind: "signed-out" });
  };
  /** `EventSource` does not tell why it was refused. */
  const refused = async (): Promise<void> => {
    leave();
    const mine = starts;
    lost("the live connection was refused");
    const answer = await askEvents(topology).catch(() => null);
    if (closed || paused || mine !== starts) return;
    if (answer?.status === 401 || answer?.status === 403) return signOut();
    if (answer?.status !== 429) return startAgain("the live connection was refused");
    const seconds = answer.retryAfter ?? REFUSED_SECONDS;
    onConnection({ kind: "polling", seconds });
    later(seconds * 1000);
  };

  const start = async (): Promise<void> => {
    leave();
    const mine = starts;
    let state: Snapshot;
    try {
      state = snapshot.parse(await readSnapshot(topology));
    } catch (error) {
      if (closed || mine !== starts) return;
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) signOut();
      else startAgain(explainError(error));
      return;
    }
    if (closed || mine !== starts) return;
    onState(state);
    const connection = new EventSource(
      `${eventsUrl(topology)}?last_event_id=${encodeURIComponent(state.last_event_id)}`,
    );
    source = connection;
    connection.addEventListener("open", () => {
      lostAt = null;
      onConnection({ kind: "connected" });
    });
    connection.addEventListener("error", () => {
      if (connection.readyState === EventSource.CLOSED) void refused();
      else lost("the live connection broke");
    });
    connection.addEventListener("reset", () => {
      startAgain("the page fell too far behind");
    });
    for (const type of EVENT_TYPES) {
      connection.addEventListener(type, (message: MessageEvent<string>) => {
        try {
          state = reduce(
            state,
            message.lastEventId,
            liveEvent.parse(JSON.parse(withExactIntegers(message.data))),
          );
        } catch (error) {
          startAgain(`an unreadable live message: ${explainError(error).slice(0, 120)}`);
          return;
        }
        onState(state);
      });
    }
  };

  const looked = (): void => {
    if (hiding !== null) clearTimeout(hiding);
    hiding = null;
    if (document.hidden) {
      hiding = setTimeout(() => {
        leave();
        paused = true;
        onConnection({ kind: "paused" });
      }, HIDDEN_MS);
    } else if (paused || signedOut) {
      [paused, signedOut] = [false, false];
      onConnection({ kind: "connecting" });
      void start();
    }
  };

  onConnection({ kind: "connecting" });
  void start();
  looked();
  document.addEventListener("visibilitychange", looked);
  return {
    close() {
      closed = true;
      leave();
      if (hiding !== null) clearTimeout(hiding);
      document.removeEventListener("visibilitychange", looked);
    },
  };
}

const eventsUrl = (topology: string): string => `/api/topologies/${encodeURIComponent(topology)}/events/`;

/** Unlike other answers, one to a lost session does not leave the page. */
async function readSnapshot(topology: string): Promise<unknown> {
  const where = at({ name: topology });
  const { data, error, response } = await client.GET("/api/topologies/{name}/snapshot/", where);
  if (!response.ok) throw refusalFrom(response.status, error);
  return data;
}

/** Whether a live connection would be let in, and if not, after how many seconds it may be asked again. */
async function askEvents(topology: string): Promise<{ status: number; retryAfter: number | null }> {
  const answer = await fetch(eventsUrl(topology), { method: "HEAD", credentials: "same-origin" });
  const seconds = Number(answer.headers.get("Retry-After") ?? "");
  return { status: answer.status, retryAfter: seconds > 0 ? seconds : null };
}
