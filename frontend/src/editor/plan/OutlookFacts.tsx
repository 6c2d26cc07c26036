import type { JSX } from "preact";
import type { Advice, Outlook } from "../../api/documents";
import { bytes, count, percent, span } from "../../format/quantities";
import { HitRateLine } from "./HitRateLine";
import { between, savings, stateOf } from "./outlook";

/** What the draft would keep, as an interval, and which other windows would fit better. */
export function OutlookFacts({ outlook }: { outlook: Outlook }): JSX.Element {
  const state = stateOf(outlook);
  const where = outlook.topology === null ? "" : ` in ${outlook.topology}`;
  return (
    <section class="outlook" aria-label="State and advice">
      {outlook.stores.length === 0 ? (
        <p>State: nothing beyond what {outlook.topology ?? "there is"} keeps already.</p>
      ) : (
        <details>
          <summary>
            State{where}: <strong>+{between(state.bytes, bytes)}</strong>{" "}
            <span class="muted">({between(state.tuples, count)} tuples)</span>
          </summary>
          <table class="list">
            <tbody>
              {outlook.stores.map((store) => (
                <tr key={store.label}>
                  <td class="mono">{store.label}</td>
                  <td class="muted">{store.kept ? "kept longer" : "new"}</td>
                  <td class="number">{between(store.bytes, bytes)}</td>
                  <td class="muted small">
                    {store.measured ? "measured per tuple" : "by its columns' types"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
      <HitRateLine />
      {outlook.advice.map((advice) => (
        <AdviceLine key={JSON.stringify(advice.windows)} advice={advice} />
      ))}
    </section>
  );
}

/** Longer windows that are free, or shorter ones that save; what they change in the answer is said too. */
function AdviceLine({ advice }: { advice: Advice }): JSX.Element {
  return (
    <p class="advice">
      <span aria-hidden="true">→ </span>
      {advice.longer ? "Widen" : "Narrow"}{" "}
      {advice.windows.map((one, i) => (
        <span key={one.alias}>
          {i > 0 ? ", " : ""}
          <strong>{one.alias}</strong> from {span(one.present_ms)} to {span(one.proposed_ms)}
        </span>
      ))}
      {advice.longer ? (
        <>
          {" "}
          and share what {advice.like} keeps:{" "}
          {advice.saved_percent > 0 ? (
            <strong>−{percent(advice.saved_percent / 100)}</strong>
          ) : (
            "it costs nothing more"
          )}
          , {advice.shared_after} of {advice.steps} steps are taken already. It then returns more: what only
          the longer windows hold.
        </>
      ) : (
        <>
          , as {advice.like} has, and save <strong>{percent(advice.saved_percent / 100)}</strong> of what it
          adds <span class="muted">({savings(advice)})</span>. It then returns less.
        </>
      )}
    </p>
  );
}
