import { useEffect, useRef, useState } from "preact/hooks";
import type { Explanation, Outlook, Problem, Validation } from "../../api/documents";
import { answered, client, explainError, isAbort, Refusal } from "../../api/request";

/** After this pause in typing the text is checked. */
const PAUSE_MS = 170;

export interface Checked {
  readonly problems: readonly Problem[];
  readonly validation: Validation | null;
  readonly explanation: Explanation | null;
  /** Null until it is known; it comes after the explanation. */
  readonly outlook: Outlook | null;
  /** Why the plan is missing or old. */
  readonly reason: string | null;
  /** True while what is shown belongs to an older text. */
  readonly pending: boolean;
}

const NOTHING: Checked = {
  problems: [],
  validation: null,
  explanation: null,
  outlook: null,
  reason: null,
  pending: false,
};
const EMPTY_REASON = "Write a query: its join graph, cost and probe orders appear here while you type.";

/** Validate, then explain, whatever stands in the editor; an answer to an older text is never shown. */
export function useValidation(sql: string, name: string | null): Checked {
  const [checked, setChecked] = useState<Checked>(NOTHING);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    running.current?.abort();
    if (sql.trim() === "") {
      setChecked({ ...NOTHING, reason: EMPTY_REASON });
      return undefined;
    }
    const control = new AbortController();
    running.current = control;
    setChecked((before) => ({ ...before, pending: true }));
    const check = async (): Promise<void> => {
      const validation = await answered(
        client.POST("/api/sql/validate/", { body: { sql, name: name ?? "" }, signal: control.signal }),
      );
      if (control.signal.aborted) return;
      if (!validation.ok) {
        setChecked((before) => ({
          ...before,
          problems: validation.errors,
          validation,
          reason:
            before.explanation === null
              ? "The plan appears once the query is valid."
              : "The plan of the last valid text:",
          pending: false,
        }));
        return;
      }
      setChecked((before) => ({ ...before, problems: [], validation }));
      const explanation = await answered(
        client.POST("/api/sql/explain/", { body: { sql, name: name ?? "" }, signal: control.signal }),
      );
      if (control.signal.aborted) return;
      setChecked({ problems: [], validation, explanation, outlook: null, reason: null, pending: false });
      const outlook = await answered(
        client.POST("/api/sql/outlook/", { body: { sql, name: name ?? "" }, signal: control.signal }),
      );
      if (!control.signal.aborted) setChecked((before) => ({ ...before, outlook }));
    };
    const timer = setTimeout(() => {
      check().catch((error: unknown) => {
        if (isAbort(error) || control.signal.aborted) return;
        const problems = error instanceof Refusal ? error.problems : [];
        setChecked((before) => ({
          ...before,
          problems,
          explanation: null,
          outlook: null,
          reason: explainError(error),
          pending: false,
        }));
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [sql, name]);
  return checked;
}
