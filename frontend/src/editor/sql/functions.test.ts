import { expect, it } from "vitest";
import source from "../../../../optimizer/algebra/functions.py?raw";
import { SQL_FUNCTIONS } from "./functions";

it("offers exactly the named functions that the optimizer knows", () => {
  const known = [...source.matchAll(/Function\("\w+", "([^"]+)"/g)].map((match) => match[1] ?? "");
  const operators = new Set(["AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "IS NULL", "CASE"]);
  const named = known.filter((sql) => /^[A-Z_]+$/.test(sql) && !operators.has(sql));
  expect(named.length).toBeGreaterThan(20);
  expect(SQL_FUNCTIONS.map((entry) => entry.sql).sort()).toEqual(named.sort());
});
