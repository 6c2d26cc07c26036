import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { explainError } from "../api/request";

export interface Loaded<T> {
  /** Null until the first answer. */
  readonly value: T | null;
  /** Why the newest attempt failed; the last good value stays beside it. */
  readonly problem: string | null;
  readonly reload: () => void;
}

/** Load once, and again every `everyMs` while the page is visible. Slow answers never overtake newer ones. */
export function useLoaded<T>(
  load: () => Promise<T>,
  everyMs: number | null = null,
  key: unknown = null,
): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const newest = useRef(0);
  const current = useRef(load);
  current.current = load;
  const reload = useCallback(() => {
    newest.current += 1;
    const mine = newest.current;
    current.current().then(
      (answer) => {
        if (mine !== newest.current) return;
        setValue(() => answer);
        setProblem(null);
      },
      (error: unknown) => {
        if (mine === newest.current) setProblem(explainError(error));
      },
    );
  }, []);
  useEffect(() => {
    setValue(null);
    reload();
    if (everyMs === null) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => {
      newest.current += 1;
      clearInterval(timer);
    };
  }, [everyMs, key]);
  return { value, problem, reload };
}
