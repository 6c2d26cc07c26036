/** What an admin looks for in the audit trail, and how the API is asked for it. */

export interface Wanted {
  readonly text: string;
  readonly who: string;
  readonly through: string;
  readonly kind: string;
  readonly verb: string;
  readonly team: string;
  readonly topology: string;
  /** The first day and the last, of UTC, as date fields write them. */
  readonly from: string;
  readonly to: string;
}

export const ANYTHING: Wanted = {
  text: "",
  who: "",
  through: "",
  kind: "",
  verb: "",
  team: "",
  topology: "",
  from: "",
  to: "",
};
const NAMES = Object.keys(ANYTHING) as (keyof Wanted)[];
const DAY_MS = 24 * 3600 * 1000;

/** The query of the page's address; parameters of others are left out. */
export function wantedOf(search: string): Wanted {
  const given = new URLSearchParams(search);
  return { ...ANYTHING, ...Object.fromEntries([...given].filter(([name]) => name in ANYTHING)) };
}

/** The page's address for what is looked for. */
export function addressOf(wanted: Wanted): string {
  const query = new URLSearchParams(NAMES.filter((name) => wanted[name]).map((name) => [name, wanted[name]]));
  return query.size === 0 ? "" : `?${query}`;
}

/** What the API is asked: only what was said, and days as moments. */
export function queryOf({ from, to, ...others }: Wanted): Record<string, string> {
  const said = Object.entries(others).map(([name, value]) => [name, value.trim()] as const);
  const until = Date.parse(to) + DAY_MS;
  return {
    ...Object.fromEntries(said.filter(([, value]) => value !== "")),
    ...(Number.isNaN(Date.parse(from)) ? {} : { since: new Date(from).toISOString() }),
    ...(Number.isNaN(until) ? {} : { until: new Date(until).toISOString() }),
  };
}

/** Whether anything is left out. */
export function narrows(wanted: Wanted): boolean {
  return NAMES.some((name) => wanted[name] !== "");
}
