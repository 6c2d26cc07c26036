/** A text in a link. */
import { z } from "zod";
import { carriedIn, carry } from "../../shell/carried";

const shared = z.object({ sql: z.string(), name: z.string(), description: z.string() });

export type Shared = z.infer<typeof shared>;

const PREFIX = "#draft=";

/** The address of the page at `path` with a text in it. */
export function shareLink(origin: string, path: string, text: Shared): string {
  return `${origin}${path}${PREFIX}${carry(text)}`;
}

/** The text that an address carries; null if it carries none, or one that was cut. */
export function sharedIn(hash: string): Shared | null {
  return carriedIn(hash, PREFIX, shared);
}
