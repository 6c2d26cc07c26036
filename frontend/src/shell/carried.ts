/** A value in a link: behind `#`, so that it reaches no server and no log. */
import { z } from "zod";

/** What a link carries of a value. */
export function carry(value: unknown): string {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The value behind a prefix of an address; null if there is none, or one that was cut or is another's. */
export function carriedIn<T>(hash: string, prefix: string, schema: z.ZodType<T>): T | null {
  if (!hash.startsWith(prefix)) return null;
  const coded = hash.slice(prefix.length);
  if (!/^[\w-]*$/.test(coded) || coded.length % 4 === 1) return null;
  try {
    const binary = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return schema.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch (error) {
    // Not UTF-8, not JSON, not ours: all say that the link is damaged.
    if (error instanceof TypeError || error instanceof SyntaxError || error instanceof z.ZodError)
      return null;
    throw error;
  }
}
