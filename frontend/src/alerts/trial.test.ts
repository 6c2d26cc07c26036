// @vitest-environment jsdom
import { expect, it } from "vitest";
import { outcomeOf } from "./trial";

it("waits for a first attempt, and tells of one that failed though it is tried again", () => {
  expect(outcomeOf({ state: "waiting", error: "", attempts: 0 })).toBeNull();
  expect(outcomeOf({ state: "waiting", error: "it answered 500", attempts: 1 })).toEqual({
    text: "not delivered so far, and tried again: it answered 500",
    bad: true,
  });
  expect(outcomeOf({ state: "sent", error: "", attempts: 1 })).toEqual({ text: "delivered", bad: false });
});
