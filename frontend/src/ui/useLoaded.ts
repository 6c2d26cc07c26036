import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { explainError } from "../api/request";
import { type Repeated, repeated } from "./repeated";

export interface Loaded<T> {
  /** Null until the first answer. */
  readonly value: T | null;
  /** Why the newest attempt failed; the last good value stays beside it. */
  readonly problem: string | null;
  readonly reload: () => void;
}

/** Load once, and again every `everyMs` while the page is visible; not while an answer is waited for. */
export function useLoaded<T>(
  load: () => Promise<T>,
  everyMs: number | null = null,
  key: unknown = null,
): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const current = useRef(load);
  current.current = load;
  const question = useRef<Repeated | null>(null);
  const reload = useCallback(() => question.current?.ask(), []);
  useEffect(() => {
    setValue(null);
    const asked = repeated(
      () => current.current(),
      (answer) => {
        setValue(() => answer);
        setProblem(null);
      },
      (error) => setProblem(explainError(error)),
    );
    question.current = asked;
    asked.ask();
    const timer =
      everyMs === null
        ? null
        : setInterval(() => {
            if (!document.hidden) asked.again();
          }, everyMs);
    return () => {
      asked.end();
      if (timer !== null) clearInterval(timer);
    };
  }, [everyMs, key]);
  return { value, problem, reload };
}
