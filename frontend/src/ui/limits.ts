/** Limits as people type and read them: a number, or nothing for none of one's own. Pure. */

export type Limits = Readonly<Record<string, number | null>>;
export type TypedLimits = Readonly<Record<string, string>>;

/** What stands in the fields. */
export function typedOf(limits: Limits): TypedLimits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limit === null ? "" : String(limit)]),
  );
}

/** The limits that were changed, or which field holds no number that may be. */
export function changedLimits(
  before: Limits,
  typed: TypedLimits,
): { readonly limits: Limits; readonly problem: string | null } {
  const limits: Record<string, number | null> = {};
  for (const [name, limit] of Object.entries(before)) {
    const text = (typed[name] ?? "").trim();
    const wanted = text === "" ? null : Number(text);
    if (wanted !== null && !(Number.isFinite(wanted) && wanted >= 0))
      return { limits: {}, problem: `${name}: found ${text}, expected a number from 0 on, or nothing` };
    if (wanted !== limit) limits[name] = wanted;
  }
  return { limits, problem: null };
}
