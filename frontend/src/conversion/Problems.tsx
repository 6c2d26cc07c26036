import type { JSX } from "preact";
import type { Problem } from "../api/documents";

interface Props {
  /** What the list is called. */
  readonly label: string;
  readonly problems: readonly Problem[];
  /** Nothing has to be done about them. */
  readonly advised?: boolean;
}

/** A line for each: where, what was found, what is expected. */
export function Problems({ label, problems, advised = false }: Props): JSX.Element | null {
  if (problems.length === 0) return null;
  return (
    <ul class={advised ? "problems advised" : "problems"} aria-label={label}>
      {problems.map((problem) => (
        <li key={`${problem.code} ${problem.line} ${problem.column}`}>
          <span class="place">
            {problem.line === null ? (problem.path ?? "query") : `${problem.line}:${problem.column ?? 1}`}
          </span>{" "}
          found <code>{problem.found}</code>, expected {problem.expected}
          {problem.suggestion !== null && (
            <>
              ; did you mean <code>{problem.suggestion}</code>?
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
