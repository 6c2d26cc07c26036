import type { ComponentChildren, JSX } from "preact";
import type { OverviewDocument } from "../api/documents";
import { plural } from "../format/quantities";

interface Props {
  readonly own: OverviewDocument["own"];
}

/** The way to a first answer, for an account that has deployed nothing yet. */
export function FirstQuery({ own }: Props): JSX.Element | null {
  if (own.deployed > 0) return null;
  const streams = `${plural(own.streams, "stream")} ${own.streams === 1 ? "is" : "are"} there`;
  return (
    <section class="first-query" aria-label="Your first query">
      <h2>Your first query</h2>
      <ol>
        <Step done={own.streams > 0}>
          <a href="/streams/?register">Register a stream</a>: a name and a few sample tuples are enough.
          {own.streams > 0 && (
            <span class="muted">
              {" "}
              <a href="/streams/">{streams}</a> to read already.
            </span>
          )}
        </Step>
        <Step done={own.queries > 0}>
          <a href="/queries/new/">Write a query</a>: join streams, each over a window such as [RANGE 1 HOUR].
        </Step>
        <Step done={false}>
          {own.queries > 0 ? <a href="/queries/?search=owner%3Ame">Deploy it</a> : "Deploy it"}: its results
          appear here as tuples arrive, and what it shares with other queries is computed once.
        </Step>
      </ol>
    </section>
  );
}

function Step({ done, children }: { readonly done: boolean; readonly children: ComponentChildren }) {
  return (
    <li class={done ? "done" : ""}>
      <span aria-hidden="true">{done ? "✓" : "○"}</span>
      {done && <span class="visually-hidden">Done: </span>} <span>{children}</span>
    </li>
  );
}
