import type { JSX } from "preact";
import { shareLink } from "../editor/text/share";

interface Props {
  readonly sql: string;
  readonly text: string;
  readonly title: string;
}

/** Opens a text as a new query. */
export function OpenLink({ sql, text, title }: Props): JSX.Element {
  return (
    <a
      class="button small"
      href={shareLink(window.location.origin, "/queries/new/", { sql, name: "", description: "" })}
      title={title}
    >
      {text}
    </a>
  );
}
