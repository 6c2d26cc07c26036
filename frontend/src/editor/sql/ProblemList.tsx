import type { JSX } from "preact";
import type { Problem, Validation } from "../../api/documents";
import { Button } from "../../ui/Button";
import { readsText } from "./reads";

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
                <Button small title="Ctrl-." onClick={() => onFix(problem)}>
                  Replace with {problem.suggestion}
                </Button>
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
  const streams = validation.hints.filter((hint) => hint.code !== ADD);
  return (
    <>
      <p class="hint" aria-live="polite">
        <span class="good">✓ valid</span> · reads {readsText(validation)} · gives{" "}
        {validation.outputs.map((output) => output.name).join(", ")}
      </p>
      {streams.length > 0 && (
        <ul class="problems advised" aria-label="Hints">
          {streams.map((hint) => (
            <Hint
              key={`${hint.line} ${hint.column}`}
              hint={hint}
              added={validation.hints.find((one) => one.code === ADD && one.found === hint.found)}
              onGo={onGo}
              onFix={onFix}
            />
          ))}
        </ul>
      )}
    </>
  );
}

/** The code of a hint that adds a condition at the text's end. */
const ADD = "add-condition";

interface HintProps extends Pick<Props, "onGo" | "onFix"> {
  readonly hint: Problem;
  /** The same hint, with a condition instead of a window. */
  readonly added: Problem | undefined;
}

/** The code of a hint that says when results with something absent appear. */
const DEADLINE = "deadline";

/** The code of a hint at groups without an end. */
const RUNNING = "running";

/** A stream whose tuples are kept for ever, and what would bound that. */
function Hint({ hint, added, onGo, onFix }: HintProps): JSX.Element {
  return (
    <li>
      <button type="button" class="link place" onClick={() => onGo(hint)}>
        {hint.line}:{hint.column}
      </button>{" "}
      {hint.code === DEADLINE && `${hint.found} appear ${hint.expected}`}
      {hint.code === RUNNING && `${hint.found}; ${hint.expected}`}
      {hint.code !== DEADLINE && hint.code !== RUNNING && <Fixes {...{ hint, added, onFix }} />}
    </li>
  );
}

function Fixes({ hint, added, onFix }: Omit<HintProps, "onGo">): JSX.Element {
  return (
    <>
      {hint.found}{" "}
      {added !== undefined && (
        <Button small onClick={() => onFix(added)}>
          Add {added.expected}
        </Button>
      )}{" "}
      <Button small onClick={() => onFix(hint)}>
        Replace with {hint.suggestion}
      </Button>{" "}
      <span class="hint">[RANGE UNBOUNDED] says that it is meant.</span>
    </>
  );
}
