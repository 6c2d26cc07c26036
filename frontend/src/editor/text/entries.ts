/** Texts that were previewed, saved or deployed in this browser, newest first. */
import { z } from "zod";

const entry = z.object({
  at: z.string(),
  action: z.enum(["previewed", "saved", "deployed", "replaced"]),
  name: z.string(),
  sql: z.string(),
});

export type Entry = z.infer<typeof entry>;

const KEY = "millrace.history";
const MOST = 40;

/** What an older page wrote in another form counts as nothing. */
export function readHistory(): Entry[] {
  const text = localStorage.getItem(KEY);
  if (text === null) return [];
  try {
    return z.array(entry).parse(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    return [];
  }
}

/** Keep a text; one that is there already moves to the front with what was done last. */
export function remember(made: Entry): Entry[] {
  const kept = [
    made,
    ...readHistory().filter((other) => other.sql !== made.sql || other.name !== made.name),
  ].slice(0, MOST);
  localStorage.setItem(KEY, JSON.stringify(kept));
  return kept;
}
