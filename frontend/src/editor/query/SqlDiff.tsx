import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { explainError } from "../../api/request";
import { ProblemLine } from "../../ui/ProblemLine";

/**
 * Two versions of a text in one: what went is struck, what came is marked. The merge view loads when it is
 * first needed.
 */
export function SqlDiff({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  label: string;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let view: { destroy(): void } | null = null;
    let gone = false;
    const draw = async (): Promise<void> => {
      const [{ unifiedMergeView }, { EditorView, lineNumbers }, { EditorState }] = await Promise.all([
        import("@codemirror/merge"),
        import("@codemirror/view"),
        import("@codemirror/state"),
      ]);
      if (gone || host.current === null) return;
      view = new EditorView({
        parent: host.current,
        doc: after,
        extensions: [
          lineNumbers(),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          unifiedMergeView({ original: before, mergeControls: false, gutter: true }),
        ],
      });
    };
    draw().catch((error: unknown) => setProblem(explainError(error)));
    return () => {
      gone = true;
      view?.destroy();
    };
  }, [before, after]);
  return problem === null ? <div ref={host} class="sql-diff" /> : <ProblemLine text={problem} />;
}
