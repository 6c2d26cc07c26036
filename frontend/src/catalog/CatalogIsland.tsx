import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { QueryDocument } from "../api/documents";
import { answered, client } from "../api/request";
import { type StreamColour, streamColours } from "../colour/streams";
import { ago, instant, windowLength } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { AccountName } from "../ui/AccountName";
import { CorrectnessLight } from "../ui/CorrectnessLight";
import { lightOf } from "../ui/correctness";
import { ProblemLine } from "../ui/ProblemLine";
import { StatusBadge } from "../ui/StatusBadge";
import { StreamChip } from "../ui/StreamChip";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";
import { FavouriteButton } from "./FavouriteButton";
import { matches, parseSearch } from "./search";

const REFRESH_MS = 5000;

/** One window for all aliases, or a range. */
function windowsOf(query: Pick<QueryDocument, "inputs">): string {
  const texts = [...new Set(query.inputs.map((input) => windowLength(input.window_ms)))];
  return texts.length === 0 ? "–" : texts.join(", ");
}

export function CatalogIsland({ me }: IslandProps): JSX.Element {
  const queries = useLoaded(() => answered(client.GET("/api/queries/")), REFRESH_MS);
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  const now = useNow();
  const address = new URLSearchParams(window.location.search);
  const [text, setText] = useState(address.get("search") ?? "");
  const box = useRef<HTMLInputElement>(null);
  const colour = useMemo(
    () => streamColours((streams.value ?? []).map((stream) => stream.name)),
    [streams.value],
  );
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing =
        event.target instanceof HTMLElement && /INPUT|TEXTAREA|SELECT/.test(event.target.tagName);
      if (event.key === "/" && !typing) {
        event.preventDefault();
        box.current?.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const search = (next: string): void => {
    setText(next);
    const url = next === "" ? window.location.pathname : `?search=${encodeURIComponent(next)}`;
    window.history.replaceState(null, "", url);
  };
  const found = useMemo(
    () => (queries.value ?? []).filter((query) => matches(query, parseSearch(text), me.username)),
    [queries.value, text],
  );
  return (
    <section class="catalog">
      <div class="toolbar">
        <input
          ref={box}
          type="search"
          class="search"
          value={text}
          aria-label="Search queries"
          placeholder={
            "Search: words, stream:weather, owner:me, team:ops, tag:wind, " +
            "status:running, is:favourite   ( / )"
          }
          onInput={(event) => search(event.currentTarget.value)}
        />
        <span class="muted" role="status">
          {queries.value === null ? "" : `${found.length} of ${queries.value.length}`}
        </span>
      </div>
      <ProblemLine text={queries.problem} />
      {queries.value?.length === 0 && (
        <p class="empty">
          No query yet.{" "}
          {me.role === "viewer" ? (
            "Viewers cannot write queries; ask an author to write the first one."
          ) : (
            <>
              <a href="/queries/new/">Write the first one</a>: name the streams, give each a window, join
              them.
            </>
          )}
        </p>
      )}
      {queries.value !== null && queries.value.length > 0 && found.length === 0 && (
        <p class="empty">
          No query matches.{" "}
          <button type="button" class="link" onClick={() => search("")}>
            Clear the search
          </button>
        </p>
      )}
      {found.length > 0 && (
        <div class="table-scroll">
          <Table
            columns={queryColumns(colour, now, (part) => search(`${text} ${part}`.trim()), queries.reload)}
            rows={found}
            rowKey={({ id }) => id}
          />
        </div>
      )}
    </section>
  );
}

function queryColumns(
  colour: StreamColour,
  now: number,
  onNarrow: (part: string) => void,
  onChanged: () => void,
): readonly Column<QueryDocument>[] {
  return [
    {
      label: "Query",
      cell: (query) => (
        <>
          <FavouriteButton query={query} onChanged={onChanged} />
          <a class="row-link" href={`/queries/${query.id}/`}>
            {query.name}
          </a>
          <span class="muted"> v{query.version}</span>
          <div class="muted clip">{query.description}</div>
          {query.tags.map((tag) => (
            <button key={tag} type="button" class="tag" onClick={() => onNarrow(`tag:${tag}`)}>
              {tag}
            </button>
          ))}
        </>
      ),
    },
    {
      label: "Streams",
      class: "chips",
      cell: ({ streams }) => streams.map((name) => <StreamChip key={name} stream={name} colour={colour} />),
    },
    { label: "Windows", kind: "wide", cell: windowsOf },
    {
      label: "Status",
      cell: (query) => (
        <>
          <StatusBadge state={query.status} title={query.suspended} />
          {query.status !== "draft" && (
            <div class="small">
              <CorrectnessLight light={lightOf(query.correctness, now)} />
            </div>
          )}
          {query.deployed_version !== null && query.deployed_version !== query.version && (
            <div class="muted">runs v{query.deployed_version}</div>
          )}
          {query.applied !== null && query.applied.drift.length > 0 && (
            <div class="muted" title={query.applied.drift.join("; ")}>
              ≠ drifted from {query.applied.directory}
            </div>
          )}
        </>
      ),
    },
    {
      label: "Topology",
      kind: "wide",
      cell: ({ topology }) =>
        topology === null ? (
          <span class="muted">–</span>
        ) : (
          <a href={`/topologies/${encodeURIComponent(topology)}/`}>{topology}</a>
        ),
    },
    {
      label: "Owner",
      kind: "wide",
      cell: ({ owner, owner_is_service, team }) => (
        <>
          <AccountName name={owner} isService={owner_is_service} />
          {team !== null && <div class="muted">{team}</div>}
        </>
      ),
    },
    {
      label: "Changed",
      kind: "wide",
      class: "muted",
      cellTitle: ({ updated_at }) => `${instant(updated_at)} UTC`,
      cell: ({ updated_at }) => ago(updated_at, now),
    },
  ];
}
