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
  if (applied === null || applied.drift.length === 0) {
    return null;
  }
  return (
    <p class="notice">
      ≠ {name} is not as {applied.by === null ? "somebody" : accountText(applied.by, applied.by_is_service)}{" "}
      applied it from {applied.directory}: {applied.drift.join("; ")}. Applying the directory undoes that.
    </p>
  );
}
