/**
 * One colour per stream, the same on every page.
 *
 * The slots are the Okabe-Ito colour-blind-safe set, as CSS variables so that light and dark themes can
 * each use a shade with enough contrast. A name's slot follows from a hash of the name, so registering
 * another stream does not repaint the others unless two names want one slot; then the alphabetically
 * first keeps it.
 */
export const STREAM_SLOTS = 8;

function hash(name: string): number {
  let value = 0x811c9dc5; // FNV-1a, 32 bits
  for (const character of name) {
    value ^= character.codePointAt(0) ?? 0;
    value = Math.imul(value, 0x01000193) >>> 0;
  }
  return value;
}

/** `streamSlots(["weather", "departures"])` maps each name to 0..7; distinct while there are at most 8. */
export function streamSlots(names: readonly string[]): ReadonlyMap<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of [...new Set(names)].sort()) {
    let slot = hash(name) % STREAM_SLOTS;
    while (taken.has(slot) && taken.size < STREAM_SLOTS) slot = (slot + 1) % STREAM_SLOTS;
    slots.set(name, slot);
    taken.add(slot);
  }
  return slots;
}

export type StreamColour = (stream: string) => string;

/** A function from a stream's name to a CSS colour; unregistered names are neutral. */
export function streamColours(names: readonly string[]): StreamColour {
  const slots = streamSlots(names);
  return (stream) => {
    const slot = slots.get(stream);
    return slot === undefined ? "var(--stream-unknown)" : `var(--stream-${slot})`;
  };
}
