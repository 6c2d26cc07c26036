import { expect, it } from "vitest";
import { changesOf, fieldsOf } from "./taskForm";

const tasks = {
  most: 4,
  streams: [
    { stream: "arrivals", tasks: 2, fixed: null },
    { stream: "weather", tasks: 3, fixed: 3 },
  ],
};

it("says only what differs, and nothing for what was left alone", () => {
  expect(fieldsOf(tasks)).toEqual({ arrivals: "", weather: "3" });
  expect(changesOf(tasks, fieldsOf(tasks))).toEqual({ changes: {}, problem: null });
  expect(changesOf(tasks, { arrivals: " 8 ", weather: "" })).toEqual({
    changes: { arrivals: 8, weather: null },
    problem: null,
  });
  expect(changesOf(tasks, { arrivals: "", weather: "003" }).changes).toEqual({});
});

it("names the stream whose field holds no number of tasks", () => {
  for (const text of ["0", "257", "-1", "2.5", "two", "1e2"]) {
    const { changes, problem } = changesOf(tasks, { arrivals: "4", weather: text });
    expect(changes).toEqual({});
    expect(problem).toBe(`weather: found ${text}, expected a whole number from 1 to 256, or nothing`);
  }
});
