import { expect, it } from "vitest";
import { fieldOf, limitOf, limitText, limitUntilRestart } from "./memoryLimit";

const MB = 1024 * 1024;

it("reads what it wrote, to the byte", () => {
  for (const limit of [null, 64 * MB, 256 * MB, 100_000_000, 64 * MB * MB]) {
    expect(limitOf(fieldOf(limit))).toEqual({ limit, problem: null });
  }
  expect(limitOf(" 1.5e3 ").problem).toContain("found 1.5e3");
  expect(limitOf(" 96.5 ").limit).toBe(96.5 * MB);
});

it("takes nothing for no limit, and no text for nothing", () => {
  expect(limitOf("  ")).toEqual({ limit: null, problem: null });
  for (const text of ["0", "63.9", "-64", "67108865", "much", "256 MB", "1,000"]) {
    expect(limitOf(text)).toEqual({
      limit: null,
      problem: `found ${text}, expected a number of MB from 64 to 67108864, or nothing`,
    });
  }
});

it("tells no limit from any number", () => {
  expect(limitText(null)).toBe("no limit");
  expect(limitText(256 * MB)).toBe("256 MB");
});

it("says what a process has that was launched with another limit", () => {
  const run = { memory_limit_bytes: 64 * MB };
  expect(limitUntilRestart({ state: "running", run, memory_limit_bytes: null })).toEqual({ limit: 64 * MB });
  expect(
    limitUntilRestart({ state: "running", run: { memory_limit_bytes: null }, memory_limit_bytes: 64 * MB }),
  ).toEqual({ limit: null });
  expect(limitUntilRestart({ state: "running", run, memory_limit_bytes: 64 * MB })).toBeNull();
  for (const state of ["stopped", "failed"] as const)
    expect(limitUntilRestart({ state, run, memory_limit_bytes: null })).toBeNull();
  expect(limitUntilRestart({ state: "starting", run: null, memory_limit_bytes: null })).toBeNull();
});
