import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument } from "../api/documents";
import { answered, at, client, explainError } from "../api/request";

/** One's own star beside a query. */
export function FavouriteButton({
  query,
  onChanged,
}: {
  query: Pick<QueryDocument, "id" | "name" | "favourite">;
  onChanged: () => void;
}): JSX.Element {
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <button
      type="button"
      class="star"
      aria-pressed={query.favourite}
      aria-label={`${query.name} is a favourite`}
      title={problem ?? (query.favourite ? "No longer a favourite" : "Make it a favourite")}
      onClick={() => {
        setProblem(null);
        const call = query.favourite ? client.DELETE : client.PUT;
        answered(call("/api/queries/{id}/favourite/", at({ id: query.id }))).then(
          onChanged,
          (error: unknown) => setProblem(explainError(error)),
        );
      }}
    >
      <span aria-hidden="true">{query.favourite ? "★" : "☆"}</span>
    </button>
  );
}
