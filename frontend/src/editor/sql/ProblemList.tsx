import type { JSX } from "preact";
import type { Problem, Validation } from "../../api/documents";
import { windowLength } from "../../format/quantities";

interface Props {
  readonly problems: readonly Problem[];
  readonly validation: Validation | null;
  readonly empty: boolean;
  readonly pending: boolean;
  readonly onGo: (problem: Problem) => void;
  readonly onFix: (problem: Problem) => void;
}

/** Under the editor: what is wrong and how to mend it, or what the query reads and gives. */
export function ProblemList({ problems, validation, empty, pending, onGo, onFix }: Props): JSX.Element {
  if (problems.length > 0) {
    return (
      <ul class="problems" aria-live="polite" aria-label="Problems">
        {problems.map((problem) => (
          <li key={`${problem.code} ${problem.line} ${problem.column}`}>
            <button type="button" class="link place" onClick={() => onGo(problem)}>
              {problem.line === null ? "query" : `${problem.line}:${problem.column ?? 1}`}
            </button>{" "}
            found <code>{problem.found}</code>, expected {problem.expected}
            {problem.suggestion !== null && problem.column !== null && (
              <>
                {" "}
                <button type="button" class="button small" title="Ctrl-." onClick={() => onFix(problem)}>
                  Replace with {problem.suggestion}
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
    );
  }
  if (empty)
    return (
      <p class="hint">
        Ctrl-Space completes, Ctrl-Enter saves and deploys, Ctrl-S saves, Shift-Alt-F formats.
      </p>
    );
  if (validation === null || !validation.ok)
    return (
      <p class="hint" aria-live="polite">
        {pending ? "Checking…" : ""}
      </p>
    );
  return (
    <p class="hint" aria-live="polite">
      <span class="good">✓ valid</span> · reads{" "}
      {validation.inputs
        .map((input) => `${input.stream} as ${input.alias} (${windowLength(input.window_ms)})`)
        .join(", ")}{" "}
      · gives {validation.outputs.map((output) => output.name).join(", ")}
    </p>
  );
}
