import type { JSX } from "preact";
import type { Advice, Outlook } from "../api/documents";
import { bytes, count, percent, rate, span } from "../format/quantities";
import { between, stateOf } from "./outlook";

/** What the draft would keep, as an interval, and which longer windows would pay. */
export function OutlookFacts({ outlook }: { outlook: Outlook }): JSX.Element {
  const state = stateOf(outlook);
  const where = outlook.topology === null ? "" : ` in ${outlook.topology}`;
  return (
    <section class="outlook" aria-label="State and advice">
      {outlook.stores.length === 0 ? (
        <p>State: nothing more than {outlook.topology ?? "there is"} keeps already.</p>
      ) : (
        <details>
          <summary>
            State{where}: <strong>+{between(state.bytes, bytes)}</strong> <span class="muted">({between(state.tuples, count)} tuples)</span>
          </summary>
          <table class="list">
            <tbody>
              {outlook.stores.map((store) => (
                <tr key={store.label}>
                  <td class="mono">{store.label}</td>
                  <td class="muted">{store.kept ? "kept longer" : "new"}</td>
                  <td class="number">{between(store.bytes, bytes)}</td>
                  <td class="muted small">{store.measured ? "measured per tuple" : "by its columns' types"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
      {outlook.advice.map((advice) => <AdviceLine key={JSON.stringify(advice.widenings)} advice={advice} />)}
    </section>
  );
}

function AdviceLine({ advice }: { advice: Advice }): JSX.Element {
  return (
    <p class="advice">
      <span aria-hidden="true">→ </span>Widen{" "}
      {advice.widenings.map((one, i) => (
        <span key={one.alias}>{i > 0 ? ", " : ""}<strong>{one.alias}</strong> from {span(one.present_ms)} to {span(one.proposed_ms)}</span>
      ))}{" "}
      and share {advice.shared_after} instead of {advice.shared_before} of {advice.steps} steps, as {advice.like} does:{" "}
      <strong>−{percent(advice.saved_percent / 100)}</strong> <span class="muted">({rate(advice.saved_probe)} fewer sent)</span>. It then returns more: what only the longer windows hold.
    </p>
  );
}
