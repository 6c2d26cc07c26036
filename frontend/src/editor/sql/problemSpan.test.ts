import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import { problemSpan } from "./problemSpan";

const text = Text.of(["SELECT d.orign", "FROM departures AS d"]);
const span = (line: number | null, column: number | null, end_column: number | null): string => {
  const { from, to } = problemSpan({ line, column, end_column }, text);
  return text.sliceString(from, to);
};

it("underlines exactly the columns given", () => {
  expect(span(1, 8, 15)).toBe("d.orign");
  expect(span(2, 6, 16)).toBe("departures");
});

it("underlines something when less is known", () => {
  expect(span(1, 8, null)).toBe("d");
  expect(span(2, null, null)).toBe("FROM departures AS d");
  expect(span(null, null, null)).toBe("SELECT d.orign");
  expect(span(2, 21, null)).toBe("d");
});

it("stays inside the text", () => {
  expect(span(9, 400, 500)).toBe("d");
});
