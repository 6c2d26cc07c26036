import type { JSX } from "preact";
import type { WholeQuery } from "../api/documents";
import { ScrollText } from "../ui/table/ScrollText";
import { OpenLink } from "./OpenLink";
import { Problems } from "./Problems";

/** The whole text as one query over streams, with what was decided for it; or what our SQL cannot say of it. */
export function WholePane({ whole }: { readonly whole: WholeQuery }): JSX.Element {
  return (
    <section class="pane" aria-label="The whole query">
      <div class="toolbar">
        <h2>The whole query over streams</h2>
        {whole.sql !== null && (
          <OpenLink
            sql={whole.sql}
            text="Open the whole query in the editor"
            title="Open as a new query, to deploy it or to change its windows"
          />
        )}
      </div>
      {whole.sql === null ? (
        <>
          <p>Not as one query yet: each of these says what to write instead.</p>
          <Problems label="What the whole query cannot have" problems={whole.problems} />
        </>
      ) : (
        <>
          <ul class="chosen" aria-label="What was chosen">
            {whole.chosen.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
          <Problems label="What is left out" problems={whole.left_out} advised />
          <ScrollText text={whole.sql} />
        </>
      )}
    </section>
  );
}
