import type { JSX } from "preact";
import { answered, at, client } from "../api/request";
import { ImpactFacts } from "../ui/dialog/ImpactFacts";
import { ProblemLine } from "../ui/ProblemLine";
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
      <ProblemLine text={impact.problem} />
      {impact.value !== null && <ImpactFacts impact={impact.value} queriesSay={["reads it", "read it"]} />}
    </>
  );
}
