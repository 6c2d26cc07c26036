import type { JSX } from "preact";
import { useState } from "preact/hooks";

interface Props {
  readonly tags: readonly string[];
  readonly editable: boolean;
  readonly onTags: (tags: string[]) => void;
}

/** A query's tags: click one to take it away, type one and press Enter to add it. */
export function TagList({ tags, editable, onTags }: Props): JSX.Element {
  const [typed, setTyped] = useState("");
  return (
    <fieldset class="group tag-list" aria-label="Tags">
      {tags.map((tag) =>
        editable ? (
          <button
            key={tag}
            type="button"
            class="tag"
            title="Remove this tag"
            aria-label={`Take away the tag ${tag}`}
            onClick={() => onTags(tags.filter((other) => other !== tag))}
          >
            {tag} ✕
          </button>
        ) : (
          <span key={tag} class="tag">
            {tag}
          </span>
        ),
      )}
      {editable && (
        <input
          type="text"
          class="tag-box"
          value={typed}
          maxLength={40}
          aria-label="Add a tag"
          placeholder="+ tag"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            const tag = typed.trim();
            if (event.key !== "Enter" || tag === "") return;
            event.preventDefault();
            setTyped("");
            if (!tags.includes(tag)) onTags([...tags, tag]);
          }}
        />
      )}
    </fieldset>
  );
}
