/** What the editor can undo and redo, kept in this browser so that it outlives the page. */
import { z } from "zod";

const kept = z.object({ doc: z.string(), state: z.unknown() });
/** Of one query; a browser keeps some five million for all. */
const MOST_CHARACTERS = 200_000;

const key = (queryId: number | null): string => `millrace.undo.${queryId ?? "new"}`;

/** The editor's state as it was left, if it was left with this very text; else null. */
export function readUndo(queryId: number | null, doc: string): unknown {
  const text = localStorage.getItem(key(queryId));
  if (text === null) return null;
  try {
    const found = kept.parse(JSON.parse(text));
    return found.doc === doc ? found.state : null;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    return null;
  }
}

export function keepUndo(queryId: number | null, doc: string, state: unknown): void {
  const text = JSON.stringify({ doc, state });
  try {
    if (text.length <= MOST_CHARACTERS) localStorage.setItem(key(queryId), text);
    else dropUndo(queryId);
  } catch (error) {
    // The browser's space is used up: undo then ends with the page, and the text itself needs the rest.
    if (!(error instanceof DOMException)) throw error;
    dropUndo(queryId);
  }
}

export function dropUndo(queryId: number | null): void {
  localStorage.removeItem(key(queryId));
}
