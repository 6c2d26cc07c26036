import type { JSX } from "preact";
import type { QueryDocument } from "../api/documents";
import { accountText } from "./AccountName";

interface Props {
  readonly name: string;
  /** What a directory last wanted of the query. */
  readonly applied: QueryDocument["applied"];
}

/** That a query is no longer as a directory has it; nothing if it is. */
export function DriftLine({ name, applied }: Props): JSX.Element | null {
  const text = driftText(name, applied);
  return text === null ? null : <p class="notice">{text}</p>;
}

/** The same of a query, or of a topology's job, as text. */
export function driftText(name: string, applied: QueryDocument["applied"]): string | null {
  if (applied === null || applied.drift.length === 0) return null;
  const by = applied.by === null ? "somebody" : accountText(applied.by, applied.by_is_service);
  return (
    `≠ ${name} is not as ${by} applied it from ${applied.directory}: ${applied.drift.join("; ")}. ` +
    "Applying the directory undoes that."
  );
}
