/** The catalog's search line, while typing: words anywhere, and `stream: owner: team: tag: status: name:` and `is:favourite` to narrow. */
import type { QueryDocument } from "../api/documents";

const FIELDS = ["stream", "owner", "team", "tag", "status", "name", "is"] as const;
type Field = (typeof FIELDS)[number];

export interface Search {
  readonly words: readonly string[];
  readonly fields: readonly { readonly field: Field; readonly value: string }[];
}

/** `parseSearch('late stream:weather')` is one word and one field; `foo:bar` with an unknown field is a word. */
export function parseSearch(text: string): Search {
  const words: string[] = [];
  const fields: { field: Field; value: string }[] = [];
  for (const part of text.toLowerCase().split(/\s+/)) {
    if (part === "") continue;
    const [head = "", ...rest] = part.split(":");
    const field = FIELDS.find((name) => name === head);
    const value = rest.join(":");
    if (field === undefined || rest.length === 0) words.push(part);
    else if (value !== "") fields.push({ field, value });
  }
  return { words, fields };
}

export function matches(query: QueryDocument, search: Search, me: string): boolean {
  const text = [query.name, query.description, query.sql, ...query.tags].join("\n").toLowerCase();
  return (
    search.words.every((word) => text.includes(word)) &&
    search.fields.every(({ field, value }) => {
      switch (field) {
        case "stream":
          return query.streams.some((stream) => stream.toLowerCase().startsWith(value));
        case "owner":
          return query.owner.toLowerCase() === (value === "me" ? me.toLowerCase() : value);
        case "team":
          return (query.team ?? "").toLowerCase() === value;
        case "is":
          return "favourite".startsWith(value) && query.favourite;
        case "tag":
          return query.tags.some((tag) => tag.toLowerCase().startsWith(value));
        case "status":
          return query.status.startsWith(value);
        case "name":
          return query.name.toLowerCase().includes(value);
      }
    })
  );
}
