import { expect, test, vi } from "vitest";
import { LONG_MS, type Repeated, repeated } from "./repeated";

interface Asked {
  readonly question: Repeated;
  readonly shown: string[];
  /** Answers the n-th question, counted from 1. */
  readonly answer: (number: number) => Promise<void>;
  readonly fail: (number: number) => Promise<void>;
  readonly count: () => number;
}

function asked(): Asked {
  const open: { resolve: (value: string) => void; reject: (error: unknown) => void }[] = [];
  const shown: string[] = [];
  const question = repeated(
    () => new Promise<string>((resolve, reject) => void open.push({ resolve, reject })),
    (value) => void shown.push(value),
    (error) => void shown.push(String(error)),
  );
  return {
    question,
    shown,
    answer: async (number) => open[number - 1]?.resolve(`answer ${number}`),
    fail: async (number) => open[number - 1]?.reject(`problem ${number}`),
    count: () => open.length,
  };
}

test("a server that is slower than the page asks is waited for, and its answer shown", async () => {
  const { question, shown, answer, count } = asked();
  question.ask();
  for (let tick = 0; tick < 5; tick += 1) question.again();
  expect(count()).toBe(1);
  await answer(1);
  expect(shown).toEqual(["answer 1"]);
  question.again();
  question.again();
  expect(count()).toBe(2);
});

test("what was asked before something was changed is not shown", async () => {
  const { question, shown, answer } = asked();
  question.ask();
  question.ask();
  await answer(1);
  expect(shown).toEqual([]);
  await answer(2);
  expect(shown).toEqual(["answer 2"]);
});

test("a problem ends the waiting, too", async () => {
  const { question, shown, answer, fail, count } = asked();
  question.ask();
  await fail(1);
  question.again();
  expect(count()).toBe(2);
  await answer(2);
  expect(shown).toEqual(["problem 1", "answer 2"]);
});

test("behind a dead connection another question is asked; no answer is overtaken by an older one", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { question, shown, answer, count } = asked();
  question.ask();
  vi.advanceTimersByTime(LONG_MS);
  question.again();
  question.again();
  expect(count()).toBe(2);
  await answer(2);
  await answer(1);
  expect(shown).toEqual(["answer 2"]);
  question.again();
  expect(count()).toBe(3);
  vi.useRealTimers();
});

test("behind the end nothing is shown, and nothing asked", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { question, shown, answer, fail, count } = asked();
  question.ask();
  vi.advanceTimersByTime(LONG_MS);
  question.again();
  vi.useRealTimers();
  question.end();
  await answer(1);
  await fail(2);
  question.ask();
  question.again();
  expect(shown).toEqual([]);
  expect(count()).toBe(2);
});
