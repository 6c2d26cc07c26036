/** Places for ticks on an axis of time spans: those that people count in. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Steps up to a second and from a day on are decimal; between them they divide the next larger unit. */
const STEPS = [1, 2, 5, 10, 15, 30]
  .flatMap((many) => [many * SECOND, many * MINUTE])
  .concat([1, 2, 3, 6, 12].map((many) => many * HOUR))
  .sort((a, b) => a - b);

function decimalStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((many) => many * power >= least) ?? 10) * power;
}

/**
 * Multiples of one round step from 0 to `most`, at most `count` beside the 0.
 *
 * `spanTicks(4_980_000, 3)`, up to 1 h 23 min, is 0, 30 min, 1 h.
 *
 * @param most in milliseconds
 */
export function spanTicks(most: number, count: number): number[] {
  if (!(most > 0)) return [0];
  const least = most / count;
  const step =
    least <= SECOND / 2
      ? decimalStep(least)
      : (STEPS.find((one) => one >= least) ?? decimalStep(least / DAY) * DAY);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}
