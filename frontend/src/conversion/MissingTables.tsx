import type { JSX } from "preact";
import type { Unregistered } from "../api/documents";
import { prefillLink } from "../streams/prefill";

/** The tables that are to be registered first, each with a link to its form. */
export function MissingTables({ missing }: { readonly missing: Unregistered }): JSX.Element {
  return (
    <section class="pane" aria-label="Tables that are not registered">
      <h2>Tables that are not registered</h2>
      <p>Register them as streams, then convert again. Their forms have what follows from the text.</p>
      <ul class="missing">
        {missing.tables.map(({ name, columns }) => (
          <li key={name}>
            <a class="button small" href={prefillLink(window.location.origin, { name, columns })}>
              Register {name}
            </a>{" "}
            {columns.length === 0 ? (
              "no column is known to be its own"
            ) : (
              <code>
                {columns.map((one) => `${one.name} ${one.type ?? "(type to be chosen)"}`).join(", ")}
              </code>
            )}
          </li>
        ))}
      </ul>
      {missing.undecided.length > 0 && (
        <p class="muted">
          Of which of them the text does not say: <code>{missing.undecided.join(", ")}</code>
        </p>
      )}
    </section>
  );
}
