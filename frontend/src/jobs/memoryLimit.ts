/** How much of a topology's stores may be in memory, as people type and read it. Pure. */
import type { TopologyDocument } from "../api/documents";
import { bytes } from "../format/quantities";

const MEGABYTE = 1024 * 1024;
/** The server refuses what is below or above, for the reasons in docs/design/memory.md. */
const LEAST_MB = 64;
const MOST_MB = 64 * MEGABYTE;

/** What stands in the field for a limit; nothing for none. */
export function fieldOf(limit: number | null): string {
  return limit === null ? "" : String(limit / MEGABYTE);
}

/** The bytes that a field asks for, null for no limit; a problem if it holds no limit that may be. */
export function limitOf(field: string): { readonly limit: number | null; readonly problem: string | null } {
  const text = field.trim();
  if (text === "") return { limit: null, problem: null };
  const megabytes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (megabytes >= LEAST_MB && megabytes <= MOST_MB)
    return { limit: Math.round(megabytes * MEGABYTE), problem: null };
  return {
    limit: null,
    problem: `found ${text}, expected a number of MB from ${LEAST_MB} to ${MOST_MB}, or nothing`,
  };
}

export function limitText(limit: number | null): string {
  return limit === null ? "no limit" : bytes(limit);
}

type Limited = Pick<TopologyDocument, "state" | "memory_limit_bytes"> & {
  readonly run: Pick<NonNullable<TopologyDocument["run"]>, "memory_limit_bytes"> | null;
};

/** The limit of the process that runs, if it is not the topology's: what it waits for is a restart. */
export function limitUntilRestart({
  state,
  run,
  memory_limit_bytes,
}: Limited): { readonly limit: number | null } | null {
  if (
    run === null ||
    state === "stopped" ||
    state === "failed" ||
    run.memory_limit_bytes === memory_limit_bytes
  )
    return null;
  return { limit: run.memory_limit_bytes };
}
