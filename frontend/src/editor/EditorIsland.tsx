import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { QueryDocument } from "../api/documents";
import { answered, at, client, explainError } from "../api/request";
import { streamColours } from "../colour/streams";
import type { IslandProps } from "../shell/islandProps";
import { useLoaded } from "../ui/useLoaded";
import { Editor } from "./Editor";

const STATUS_MS = 3000;

/** Loads what the editor needs; the editor itself starts only when its query is known. */
export function EditorIsland({ queryId, functions, me }: IslandProps): JSX.Element {
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  const queries = useLoaded(() => answered(client.GET("/api/queries/")));
  const [query, setQuery] = useState<QueryDocument | null>(null);
  const [statusProblem, setStatusProblem] = useState<string | null>(null);
  const stored = useLoaded(async () =>
    queryId === null ? null : answered(client.GET("/api/queries/{id}/", at({ id: queryId }))),
  );
  useEffect(() => setQuery(stored.value), [stored.value]);
  // The state changes behind the page (deployed, running, failed); the text changes only by saving.
  const id = query?.id ?? null;
  useEffect(() => {
    if (id === null) return undefined;
    const timer = setInterval(() => {
      if (document.hidden) return;
      answered(client.GET("/api/queries/{id}/", at({ id }))).then(
        ({ status, suspended, correctness, applied, topology, deployed_version }) => {
          setQuery((before) =>
            before === null || before.id !== id
              ? before
              : { ...before, status, suspended, correctness, applied, topology, deployed_version },
          );
          setStatusProblem(null);
        },
        (error: unknown) => setStatusProblem(explainError(error)),
      );
    }, STATUS_MS);
    return () => clearInterval(timer);
  }, [id]);
  const colour = useMemo(
    () => streamColours((streams.value ?? []).map((stream) => stream.name)),
    [streams.value],
  );
  if (queryId !== null && query === null) {
    return stored.problem === null ? (
      <p class="muted">Loading the query…</p>
    ) : (
      <p class="problem-line" role="alert">
        {stored.problem} <a href="/queries/">All queries</a>
      </p>
    );
  }
  return (
    <Editor
      query={query}
      onQuery={setQuery}
      streams={streams.value}
      streamsProblem={streams.problem ?? statusProblem}
      queries={queries.value ?? []}
      functions={functions}
      colour={colour}
      viewer={me.role === "viewer"}
    />
  );
}
