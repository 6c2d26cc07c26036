/** Unsaved work is kept in this browser, per query, until it is saved. */
import { z } from "zod";

const draft = z.object({
  sql: z.string(),
  name: z.string(),
  description: z.string(),
  version: z.number().nullable(),
});

export type Draft = z.infer<typeof draft>;

const key = (queryId: number | null): string => `millrace.draft.${queryId ?? "new"}`;

/** The kept draft, or null; what an older page wrote in another form counts as none. */
export function readDraft(queryId: number | null): Draft | null {
  const text = localStorage.getItem(key(queryId));
  if (text === null) return null;
  try {
    return draft.parse(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    localStorage.removeItem(key(queryId));
    return null;
  }
}

export function keepDraft(queryId: number | null, kept: Draft): void {
  localStorage.setItem(key(queryId), JSON.stringify(kept));
}

export function dropDraft(queryId: number | null): void {
  localStorage.removeItem(key(queryId));
}
