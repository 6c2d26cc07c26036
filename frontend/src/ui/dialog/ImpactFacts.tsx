import type { JSX } from "preact";
import type { Impact } from "../../api/documents";
import { bytes, count } from "../../format/quantities";
import { AccountName } from "../AccountName";
import { StatusBadge } from "../StatusBadge";

interface Props {
  readonly impact: Impact;
  /** What one listed query has to do with it, and what several: "reads it" and "read it". */
  readonly queriesSay: readonly [one: string, several: string];
}

/** Blast radius: the queries that something reaches, and the stores that go or stay. */
export function ImpactFacts({ impact, queriesSay }: Props): JSX.Element {
  const gone = impact.stores.filter((store) => store.released);
  const kept = impact.stores.filter((store) => !store.released);
  // A term without anything that is said of it is no entry of a list.
  const none = impact.queries.length === 0 ? <p class="impact">No query {queriesSay[0]}</p> : null;
  if (none !== null && impact.stores.length === 0) return none;
  return (
    <>
      {none}
      <Listed impact={impact} gone={gone} kept={kept} queriesSay={queriesSay} />
    </>
  );
}

interface ListedProps extends Props {
  readonly gone: Impact["stores"];
  readonly kept: Impact["stores"];
}

function Listed({ impact, gone, kept, queriesSay }: ListedProps): JSX.Element {
  return (
    <dl class="impact">
      {impact.queries.length > 0 && (
        <dt>
          {impact.queries.length === 1 ? "One query" : `${impact.queries.length} queries`}{" "}
          {queriesSay[impact.queries.length > 1 ? 1 : 0]}
        </dt>
      )}
      {impact.queries.map((query) => (
        <dd key={query.id}>
          <a href={`/queries/${query.id}/`}>{query.name}</a> <StatusBadge state={query.status} />{" "}
          <span class="muted">
            <AccountName name={query.owner} isService={query.owner_is_service} />
            {query.pinned_version === null ? "" : `, keeps reading v${query.pinned_version}`}
          </span>
        </dd>
      ))}
      {gone.length > 0 && (
        <dt>
          {gone.length === 1 ? "One store goes" : `${gone.length} stores go`}; nothing else needs{" "}
          {gone.length === 1 ? "it" : "them"}
        </dt>
      )}
      {gone.map((store) => (
        <dd key={store.id}>
          {store.label}{" "}
          <span class="muted">
            {count(store.tuples)} tuples, {bytes(store.bytes)}
          </span>
        </dd>
      ))}
      {kept.length > 0 && (
        <dt>
          {gone.length > 0
            ? `${kept.length} more ${kept.length === 1 ? "stays" : "stay"}`
            : kept.length === 1
              ? "One store holds tuples"
              : `${kept.length} stores hold tuples`}
        </dt>
      )}
      {kept.map((store) => (
        <dd key={`${store.topology} ${store.id}`}>
          {store.label}{" "}
          <span class="muted">
            {count(store.tuples)} tuples, {bytes(store.bytes)}; serves{" "}
            {store.used_by.length === 0 ? "no query" : store.used_by.join(", ")}
          </span>
        </dd>
      ))}
    </dl>
  );
}
