/** The catalog's search: words anywhere; `stream:`, `owner:`, `tag:`, ... and `is:favourite` narrow it. */
import type { QueryDocument } from "../api/documents";

type Field = "stream" | "owner" | "team" | "tag" | "status" | "name" | "is";

const FIELDS: Readonly<Record<Field, (query: QueryDocument, value: string, me: string) => boolean>> = {
  stream: (query, value) => query.streams.some((stream) => stream.toLowerCase().startsWith(value)),
  owner: (query, value, me) => query.owner.toLowerCase() === (value === "me" ? me.toLowerCase() : value),
  team: (query, value) => (query.team ?? "").toLowerCase() === value,
  tag: (query, value) => query.tags.some((tag) => tag.toLowerCase().startsWith(value)),
  status: (query, value) => query.status.startsWith(value),
  name: (query, value) => query.name.toLowerCase().includes(value),
  is: (query, value) => "favourite".startsWith(value) && query.favourite,
};

function isField(name: string): name is Field {
  return Object.hasOwn(FIELDS, name);
}

export interface Search {
  readonly words: readonly string[];
  readonly fields: readonly { readonly field: Field; readonly value: string }[];
}

/** `late stream:weather` is one word and one field; `foo:bar` with an unknown field is a word. */
export function parseSearch(text: string): Search {
  const words: string[] = [];
  const fields: { field: Field; value: string }[] = [];
  for (const part of text.toLowerCase().split(/\s+/)) {
    if (part === "") continue;
    const [head = "", ...rest] = part.split(":");
    const value = rest.join(":");
    if (!isField(head) || rest.length === 0) words.push(part);
    else if (value !== "") fields.push({ field: head, value });
  }
  return { words, fields };
}

export function matches(query: QueryDocument, search: Search, me: string): boolean {
  const text = [query.name, query.description, query.sql, ...query.tags].join("\n").toLowerCase();
  return (
    search.words.every((word) => text.includes(word)) &&
    search.fields.every(({ field, value }) => FIELDS[field](query, value, me))
  );
}
