import type { JSX } from "preact";
import { answered, at, client } from "../api/request";
import { ImpactFacts } from "../ui/dialog/ImpactFacts";
import { useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 5000;

/** Who reads a stream, and which stores hold its tuples. */
export function StreamReaders({ name }: { name: string }): JSX.Element {
  const impact = useLoaded(
    () => answered(client.GET("/api/streams/{name}/impact/", at({ name }))),
    REFRESH_MS,
    name,
  );
  return (
    <>
      <h2>Readers</h2>
      {impact.problem !== null && <p class="problem-line">{impact.problem}</p>}
      {impact.value !== null && (
        <ImpactFacts
          impact={impact.value}
          queriesSay={impact.value.queries.length === 1 ? "reads it" : "read it"}
        />
      )}
    </>
  );
}
