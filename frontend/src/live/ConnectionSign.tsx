import type { JSX } from "preact";
import { clock } from "../format/quantities";
import { useNow } from "../ui/useNow";
import type { Live } from "./useFeed";

/**
 * The job says something at least every two seconds; after this long the page no longer trusts what it shows.
 */
export const STALE_MS = 8000;
const ALIVE = new Set(["starting", "running", "idle", "stopping"]);

export interface Sign {
  readonly kind: "connecting" | "connected" | "reconnecting" | "stale" | "polling" | "signed-out";
  readonly text: string;
}

/** Which of its states the page is in. */
export function signOf({ connection, snapshot, heardAt }: Live, now: number): Sign {
  const since = heardAt === null ? "" : ` since ${clock(new Date(heardAt).toISOString())} UTC`;
  // A page that was paused begins anew as soon as somebody looks at it.
  if (connection.kind === "connecting" || connection.kind === "paused")
    return { kind: "connecting", text: "connecting" };
  if (connection.kind === "signed-out")
    return { kind: "signed-out", text: `signed out${since === "" ? "" : `, stale${since}`}` };
  if (connection.kind === "polling")
    return { kind: "polling", text: `too many live pages open: refreshed every ${connection.seconds} s` };
  if (connection.kind === "reconnecting")
    return {
      kind: "reconnecting",
      text: `reconnecting: ${connection.reason}${since === "" ? "" : `, stale${since}`}`,
    };
  const expected = snapshot !== null && ALIVE.has(snapshot.state);
  if (expected && heardAt !== null && now - heardAt > STALE_MS)
    return { kind: "stale", text: `stale${since}` };
  return { kind: "connected", text: "connected" };
}

export function ConnectionSign({ live }: { live: Live }): JSX.Element {
  const sign = signOf(live, useNow());
  const mark = {
    connecting: "…",
    connected: "●",
    reconnecting: "↻",
    stale: "!",
    polling: "↻",
    "signed-out": "!",
  }[sign.kind];
  return (
    <span class={`connection connection-${sign.kind}`} role="status" title={sign.text}>
      <span aria-hidden="true">{mark}</span> {sign.text}
      {sign.kind === "signed-out" && (
        <>
          {" "}
          · <a href={`/login/?next=${encodeURIComponent(window.location.pathname)}`}>sign in</a>
        </>
      )}
    </span>
  );
}
