import type { JSX } from "preact";
import type { QueryDocument } from "../../api/documents";
import { FavouriteButton } from "../../catalog/FavouriteButton";
import { QueryActions } from "./QueryActions";
import { QueryNumbers } from "./QueryNumbers";
import { TagList } from "./TagList";

interface Props {
  readonly query: QueryDocument;
  readonly onQuery: (query: QueryDocument) => void;
  readonly onTags: (tags: string[]) => void;
}

/** A saved query in a line: star and tags, what it does now, and the ways to take it away. */
export function SavedBar({ query, onQuery, onTags }: Props): JSX.Element {
  return (
    <div class="toolbar saved-bar">
      <FavouriteButton query={query} onChanged={() => onQuery({ ...query, favourite: !query.favourite })} />
      <TagList tags={query.tags} editable={query.can_edit} onTags={onTags} />
      {query.topology !== null && <QueryNumbers query={query} topology={query.topology} />}
      <span class="grow" />
      {query.can_edit && <QueryActions query={query} onQuery={onQuery} />}
    </div>
  );
}
