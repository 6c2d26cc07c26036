/** Finding an entry of the palette by a few of its letters. */
export interface Entry {
  readonly kind: "query" | "topology" | "stream" | "store" | "page" | "action";
  readonly name: string;
  /** Where it leads, once `act` is done; null to stay. */
  readonly href: string | null;
  readonly act?: () => Promise<unknown>;
}

/**
 * How well `text` matches: higher is better, null is not at all. Every letter must appear in order; whole
 * runs, starts of words and the start of the name count more.
 *
 * `score("late-rotations", "lr")` is a number, `score("late-rotations", "rl")` is null.
 */
export function score(name: string, text: string): number | null {
  const wanted = text.toLowerCase().replaceAll(/\s+/g, "");
  const letters = name.toLowerCase();
  const whole = letters.indexOf(wanted);
  if (whole >= 0) return 1000 - whole - letters.length / 100;
  let points = 0;
  let from = 0;
  for (const letter of wanted) {
    const place = letters.indexOf(letter, from);
    if (place < 0) return null;
    const startsWord = place === 0 || /[^a-z0-9]/.test(letters[place - 1] ?? "");
    points += startsWord ? 10 : place === from ? 4 : 1;
    from = place + 1;
  }
  return points - letters.length / 100;
}

/** The best entries first; equal scores in the order given. */
export function bestEntries(entries: readonly Entry[], text: string, limit: number): Entry[] {
  return entries
    .map((entry, place) => ({ entry, place, score: score(`${entry.name} ${entry.kind}`, text) }))
    .filter((candidate): candidate is typeof candidate & { score: number } => candidate.score !== null)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, limit)
    .map(({ entry }) => entry);
}
