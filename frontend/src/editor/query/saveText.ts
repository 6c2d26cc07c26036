import type { QueryDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { dropDraft } from "../text/draft";
import { dropUndo } from "../text/undoHistory";
import type { EditedText } from "../text/useEditedText";

/** Save a text as a new query, or as the next version of the one that it is. */
export async function saveText(
  query: QueryDocument | null,
  { name, description }: Pick<EditedText, "name" | "description">,
  sql: string,
): Promise<QueryDocument> {
  if (query === null) {
    const created = await answered(
      client.POST("/api/queries/", { body: { name: name.trim(), sql, description, tags: [] } }),
    );
    dropUndo(null);
    dropDraft(null);
    becomePageOf(created);
    return created;
  }
  if (description !== query.description)
    await answered(client.PATCH("/api/queries/{id}/", { ...at({ id: query.id }), body: { description } }));
  const saved = await answered(
    client.POST("/api/queries/{id}/versions/", { ...at({ id: query.id }), body: { sql } }),
  );
  dropDraft(query.id);
  return saved;
}

/** The page becomes the query's own without loading again, so that undo reaches back to the first letter. */
function becomePageOf(query: QueryDocument): void {
  window.history.replaceState(null, "", `/queries/${query.id}/`);
  document.title = document.title.replace(/^[^·]*/, `${query.name} `);
  document.querySelector(".page-header h1")?.replaceChildren(query.name);
}
