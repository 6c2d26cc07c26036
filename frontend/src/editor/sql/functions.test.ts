import { expect, it } from "vitest";
import { SQL_FUNCTIONS } from "./functions";

it("says how each function is called and what it does", () => {
  const names = SQL_FUNCTIONS.map((entry) => entry.sql);
  expect(names.length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
  for (const { sql, signature, help } of SQL_FUNCTIONS) {
    expect(signature.startsWith(`${sql}(`)).toBe(true);
    expect(help).toMatch(/^[A-Z0-9].*\.$/);
  }
});
