import { useEffect, useState } from "preact/hooks";
import type { QueryDocument } from "../../api/documents";
import { dropDraft, keepDraft, readDraft } from "./draft";
import { remember } from "./entries";
import { type Shared, sharedIn } from "./share";

/** A query as it stands on the page: the saved one, this browser's draft of it, or the text of a link. */
export interface EditedText {
  readonly sql: string;
  readonly setSql: (sql: string) => void;
  readonly name: string;
  readonly setName: (name: string) => void;
  readonly description: string;
  readonly setDescription: (description: string) => void;
  /** Whether it differs from what is saved. */
  readonly changed: boolean;
  /** Whether it came with the page's address. */
  readonly isShared: boolean;
  /** Whether it is a draft of an older version than the newest. */
  readonly overtaken: boolean;
  /** Keep it as a draft, with the newest letters. */
  readonly keep: (sql: string) => void;
}

/** The text that the address carries; what it replaces goes to the history. */
function takeShared(present: string, name: string): Shared | null {
  const found = sharedIn(window.location.hash);
  if (found === null) return null;
  if (present.trim() !== "" && present !== found.sql)
    remember({ at: new Date().toISOString(), action: "replaced", name, sql: present });
  window.history.replaceState(null, "", window.location.pathname);
  return found;
}

export function useEditedText(query: QueryDocument | null): EditedText {
  const [kept] = useState(() => readDraft(query?.id ?? null));
  const [shared] = useState(() => takeShared(kept?.sql ?? query?.sql ?? "", query?.name ?? kept?.name ?? ""));
  const [sql, setSql] = useState(shared?.sql ?? kept?.sql ?? query?.sql ?? "");
  const [name, setName] = useState(query?.name ?? shared?.name ?? kept?.name ?? "");
  const [description, setDescription] = useState(
    shared?.description ?? kept?.description ?? query?.description ?? "",
  );
  const differs = (text: string): boolean =>
    query === null || text !== query.sql || description !== query.description;
  const keep = (text: string): void => {
    const isEmpty = query === null && text.trim() === "" && name === "";
    if (!differs(text) || isEmpty) dropDraft(query?.id ?? null);
    else keepDraft(query?.id ?? null, { sql: text, name, description, version: query?.version ?? null });
  };
  const changed = differs(sql);
  useEffect(() => keep(sql), [sql, name, description, changed]);
  const version = kept?.version ?? null;
  const overtaken = query !== null && version !== null && version < query.version && sql === kept?.sql;
  return {
    sql,
    setSql,
    name,
    setName,
    description,
    setDescription,
    changed,
    isShared: shared !== null,
    overtaken,
    keep,
  };
}
