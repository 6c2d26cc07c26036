/** The functions that completion offers; a test holds the list to `optimizer/algebra/functions.py`. */
export interface SqlFunction {
  readonly sql: string;
  readonly signature: string;
}

const table: readonly [string, string][] = [
  ["ABS", "ABS(number)"],
  ["FLOOR", "FLOOR(number)"],
  ["CEIL", "CEIL(number)"],
  ["ROUND", "ROUND(number, digits?)"],
  ["SQRT", "SQRT(number)"],
  ["POWER", "POWER(base, exponent)"],
  ["EXP", "EXP(number)"],
  ["LN", "LN(number)"],
  ["SIN", "SIN(radians)"],
  ["COS", "COS(radians)"],
  ["STARTS_WITH", "STARTS_WITH(text, start)"],
  ["ENDS_WITH", "ENDS_WITH(text, end)"],
  ["CONTAINS", "CONTAINS(text, part)"],
  ["LOWER", "LOWER(text)"],
  ["UPPER", "UPPER(text)"],
  ["TRIM", "TRIM(text)"],
  ["SUBSTRING", "SUBSTRING(text, from, length?)"],
  ["LENGTH", "LENGTH(text)"],
  ["COALESCE", "COALESCE(value, ...)"],
  ["NULLIF", "NULLIF(value, value)"],
  ["LEAST", "LEAST(value, value, ...)"],
  ["GREATEST", "GREATEST(value, value, ...)"],
  ["CAST", "CAST(value AS type)"],
  ["YEAR", "YEAR(timestamp)"],
  ["MONTH", "MONTH(timestamp)"],
  ["DAY", "DAY(timestamp)"],
  ["HOUR", "HOUR(timestamp)"],
  ["MINUTE", "MINUTE(timestamp)"],
  ["SECOND", "SECOND(timestamp)"],
  ["DAYOFWEEK", "DAYOFWEEK(timestamp)"],
  ["EPOCH", "EPOCH(timestamp)"],
  ["DATE_TRUNC", "DATE_TRUNC(part, timestamp)"],
];

export const SQL_FUNCTIONS: readonly SqlFunction[] = table.map(([sql, signature]) => ({ sql, signature }));
