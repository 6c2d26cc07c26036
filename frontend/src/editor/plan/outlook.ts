/** Sums and texts of a draft's outlook. */
import type { Advice, Outlook } from "../../api/documents";
import { count, rate } from "../../format/quantities";

export interface Interval {
  readonly low: number;
  readonly expected: number;
  readonly high: number;
}

/** All stores together; the ends add up, because one cause (a rate) moves several of them. */
export function stateOf(outlook: Pick<Outlook, "stores">): {
  readonly tuples: Interval;
  readonly bytes: Interval;
} {
  const sum = (of: (store: Outlook["stores"][number]) => Interval): Interval =>
    outlook.stores.map(of).reduce(
      (all, one) => ({
        low: all.low + one.low,
        expected: all.expected + one.expected,
        high: all.high + one.high,
      }),
      { low: 0, expected: 0, high: 0 },
    );
  return { tuples: sum((store) => store.tuples), bytes: sum((store) => store.bytes) };
}

/** "42 kB to 60 kB", or one number if nothing is uncertain. */
export function between({ low, high }: Interval, format: (value: number) => string): string {
  const [least, most] = [format(low), format(high)];
  return least === most ? least : `${least} to ${most}`;
}

/** "4.1 m/s fewer sent, 1,060 fewer tuples kept": what is not zero of both. */
export function savings({
  saved_probe,
  saved_storage,
}: Pick<Advice, "saved_probe" | "saved_storage">): string {
  const parts = [];
  if (saved_probe > 0) parts.push(`${rate(saved_probe)} fewer sent`);
  if (saved_storage > 0) parts.push(`${count(saved_storage)} fewer tuples kept`);
  return parts.join(", ");
}
