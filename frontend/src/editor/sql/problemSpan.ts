/** Where a problem's 1-based line and columns lie in the text, always at least one character inside it. */
import type { Text } from "@codemirror/state";
import type { Problem } from "../../api/documents";

export interface Span {
  readonly from: number;
  readonly to: number;
}

export function problemSpan(problem: Pick<Problem, "line" | "column" | "end_column">, text: Text): Span {
  if (problem.line === null || problem.line < 1)
    return { from: 0, to: Math.min(text.length, text.line(1).to) };
  const line = text.line(Math.min(problem.line, text.lines));
  if (problem.column === null) return { from: line.from, to: line.to };
  const from = Math.min(line.from + Math.max(0, problem.column - 1), line.to);
  const end = problem.end_column === null ? from + 1 : line.from + problem.end_column - 1;
  const to = Math.min(Math.max(end, from + 1), text.length);
  // A problem at the very end of the text underlines its last character.
  return to > from ? { from, to } : { from: Math.max(0, from - 1), to: from };
}
