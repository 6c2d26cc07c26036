/** A stream's form that a link fills in beforehand. Pure: nothing is registered before a person says so. */
import { z } from "zod";
import { carriedIn, carry } from "../shell/carried";
import { COLUMN_TYPES, digitsOf, EMPTY, type StreamFields } from "./streamFields";

const PREFIX = "#stream=";
const MOST_COLUMNS = 500;

const prefill = z.object({
  name: z.string().max(63),
  columns: z.array(z.object({ name: z.string().max(255), type: z.string().nullable() })).max(MOST_COLUMNS),
});

/** A name and columns; those without a type are to be chosen. */
export type Prefill = z.infer<typeof prefill>;

/** The address of the form with a name and columns in it. */
export function prefillLink(origin: string, { name, columns }: Prefill): string {
  return `${origin}/streams/?register${PREFIX}${carry({ name: name.toLowerCase(), columns })}`;
}

/** The fields that an address carries; null if it carries none, or some that were cut. */
export function prefilledIn(hash: string): StreamFields | null {
  const found = carriedIn(hash, PREFIX, prefill);
  if (found === null) return null;
  const columns = found.columns.map(({ name, type }) => ({
    name,
    type: type !== null && (COLUMN_TYPES.includes(type) || digitsOf(type) !== null) ? type : "",
  }));
  const times = columns.filter(({ type }) => type === "timestamp").map(({ name }) => name);
  // Which of several times is the event time the text did not say.
  const eventTime = times.find((name) => name === EMPTY.eventTime || times.length === 1);
  if (eventTime !== undefined) return { ...EMPTY, name: found.name, columns, eventTime };
  // A column of that name that is no timestamp yet may be meant; a second one of it cannot be.
  const own = columns.some(({ name }) => name === EMPTY.eventTime);
  return own
    ? { ...EMPTY, name: found.name, columns, eventTime: "" }
    : { ...EMPTY, name: found.name, columns: [...EMPTY.columns, ...columns] };
}
