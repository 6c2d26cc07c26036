import { useState } from "preact/hooks";
import { explainError } from "../api/request";

interface Requests {
  readonly busy: boolean;
  /** Why the newest request failed. */
  readonly problem: string | null;
  readonly send: <T>(request: Promise<T>, done: (answer: T) => void) => void;
}

/** The state of a form's requests: whether one is under way, and why the newest one failed. */
export function useRequest(): Requests {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const send = <T>(request: Promise<T>, done: (answer: T) => void): void => {
    setBusy(true);
    setProblem(null);
    request.then(done, (error: unknown) => setProblem(explainError(error))).finally(() => setBusy(false));
  };
  return { busy, problem, send };
}
