import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SchemaRelation } from "./completion";
import type { SqlFunction } from "./functions";
import { createSqlEditor, type SqlEditor } from "./sqlEditor";

interface Options {
  readonly doc: string;
  /** What can be undone from the start. */
  readonly past: () => unknown;
  readonly takesFocus: boolean;
  readonly schema: readonly SchemaRelation[];
  readonly functions: readonly SqlFunction[];
  readonly onChange: (sql: string) => void;
  readonly onSave: () => void;
  readonly onDeploy: () => void;
  readonly onFormat: () => void;
  /** The page is left, with a text that may not have been rendered yet. */
  readonly onLeave: (sql: string, past: unknown) => void;
}

/**
 * An editor for SQL in an element. It lives as long as the page, and calls what the newest rendering offers.
 */
export function useSqlEditor(options: Options): {
  readonly host: RefObject<HTMLDivElement | null>;
  readonly editor: RefObject<SqlEditor | null>;
} {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<SqlEditor | null>(null);
  const newest = useRef(options);
  newest.current = options;
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createSqlEditor(host.current, {
      doc: options.doc,
      state: options.past(),
      schema: () => newest.current.schema,
      functions: options.functions,
      onChange: (sql) => newest.current.onChange(sql),
      onSave: () => newest.current.onSave(),
      onDeploy: () => newest.current.onDeploy(),
      onFormat: () => newest.current.onFormat(),
    });
    editor.current = made;
    if (options.takesFocus) made.focus();
    // Leaving is rarer than typing, and `pagehide` comes before every way of leaving.
    const leave = (): void => newest.current.onLeave(made.text(), made.state());
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      made.dispose();
    };
  }, []);
  return { host, editor };
}
