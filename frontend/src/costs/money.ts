/** Sums of money, in whatever currency the operator names. Pure. */
import { UNKNOWN } from "../format/quantities";

/** `money(12.345, "EUR")` is "EUR 12.35"; less than a hundredth is said as such. */
export function money(value: number | null, currency: string): string {
  if (value === null) return UNKNOWN;
  if (value > 0 && value < 0.01) return `${currency} <0.01`;
  const text = value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${currency} ${text}`;
}

/** What was typed as a sum: nothing is none, what is no number one that the server refuses. */
export function amountOf(text: string): number | null {
  const given = text.trim().replaceAll(",", "");
  if (given === "") return null;
  const value = Number(given);
  return Number.isFinite(value) ? value : -1;
}
