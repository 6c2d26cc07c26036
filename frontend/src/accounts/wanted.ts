/** Which accounts are looked for, and how the API is asked for them. */
import type { Person } from "../api/documents";

export interface Wanted {
  readonly text: string;
  readonly role: Person["role"] | "";
  readonly active: "true" | "false" | "";
}

export const ANYBODY: Wanted = { text: "", role: "", active: "" };

/** What the API is asked: only what was said. */
export function queryOf({ text, role, active }: Wanted): {
  text?: string;
  role?: Person["role"];
  active?: boolean;
} {
  return {
    ...(text.trim() === "" ? {} : { text: text.trim() }),
    ...(role === "" ? {} : { role }),
    ...(active === "" ? {} : { active: active === "true" }),
  };
}

/** Whether anybody is left out. */
export function narrows(wanted: Wanted): boolean {
  return Object.keys(queryOf(wanted)).length > 0;
}
