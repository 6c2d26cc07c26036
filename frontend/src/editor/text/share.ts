/** A text in a link: behind `#`, so that it reaches no server and no log. */
import { z } from "zod";

const shared = z.object({ sql: z.string(), name: z.string(), description: z.string() });

export type Shared = z.infer<typeof shared>;

const PREFIX = "#draft=";

/** The address of the page at `path` with a text in it. */
export function shareLink(origin: string, path: string, text: Shared): string {
  const bytes = new TextEncoder().encode(JSON.stringify(text));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const carried = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${origin}${path}${PREFIX}${carried}`;
}

/** The text that an address carries; null if it carries none, or one that was cut. */
export function sharedIn(hash: string): Shared | null {
  if (!hash.startsWith(PREFIX)) return null;
  const coded = hash.slice(PREFIX.length);
  if (!/^[\w-]*$/.test(coded) || coded.length % 4 === 1) return null;
  try {
    const binary = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return shared.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch (error) {
    // Not UTF-8, not JSON, not ours: all say that the link is damaged.
    if (error instanceof TypeError || error instanceof SyntaxError || error instanceof z.ZodError)
      return null;
    throw error;
  }
}
