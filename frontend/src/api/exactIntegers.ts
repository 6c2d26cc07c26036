/** JSON's integers beyond what JavaScript's numbers hold, kept as texts so that no digit is lost. Pure. */

/** JSON's texts, which are left alone, and its numbers. */
export const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** As many digits as the least of them has. */
const LONG = /\d{16}/;

/** The same document with such integers in quotes: a bigint of a row is shown as it is. */
export function withExactIntegers(json: string): string {
  if (!LONG.test(json)) return json;
  return json.replaceAll(TEXT_OR_NUMBER, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
}
