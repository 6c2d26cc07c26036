/** What the list of dead letters works out for itself. */
import type { DeadLetter } from "../api/documents";

export const keyOf = (letter: Pick<DeadLetter, "topology" | "id">): string =>
  `${letter.topology} ${letter.id}`;

/** How many there are of each reason, most first. Reasons that quote a value count together. */
export function reasonsOf(letters: readonly Pick<DeadLetter, "reason">[]): [string, number][] {
  const numbers = new Map<string, number>();
  for (const { reason } of letters) {
    const kind = reason.split(": ")[0] ?? reason;
    numbers.set(kind, (numbers.get(kind) ?? 0) + 1);
  }
  return [...numbers].sort(([first, many], [second, more]) => more - many || first.localeCompare(second));
}

/** The tuple that somebody wrote, or what is wrong with the text. */
export function parseTuple(text: string): Record<string, unknown> | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return "A tuple is a JSON object, with a value for each column.";
  return parsed as Record<string, unknown>;
}
