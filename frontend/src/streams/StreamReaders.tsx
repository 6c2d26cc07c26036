import type { JSX } from "preact";
import { readSnapshot, streamImpact } from "../api/endpoints";
import { count, instant } from "../format/quantities";
import { snapshot } from "../live/messages";
import { ImpactFacts } from "../ui/ImpactFacts";
import { useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 5000;

/** Who reads a stream, and what the topologies that read it turned away in their newest batch. */
export function StreamReaders({ name }: { name: string }): JSX.Element {
  const impact = useLoaded(() => streamImpact(name), REFRESH_MS, name);
  return (
    <>
      <h2>Readers</h2>
      {impact.problem !== null && <p class="problem-line">{impact.problem}</p>}
      {impact.value !== null && <ImpactFacts impact={impact.value} queriesSay={impact.value.queries.length === 1 ? "reads it" : "read it"} />}
      {impact.value !== null && impact.value.topologies.length > 0 && (
        <>
          <h2>Accepted and turned away</h2>
          {impact.value.topologies.map((topology) => <TurnedAway key={topology} topology={topology} stream={name} />)}
        </>
      )}
    </>
  );
}

function TurnedAway({ topology, stream }: { topology: string; stream: string }): JSX.Element {
  const live = useLoaded(async () => snapshot.parse(await readSnapshot(topology)), REFRESH_MS, topology);
  const metrics = live.value?.batch?.streams[stream];
  return (
    <dl class="numbers compact">
      <div><dt>topology</dt><dd><a href={`/topologies/${encodeURIComponent(topology)}/`}>{topology}</a></dd></div>
      <div title="in the newest batch"><dt>accepted</dt><dd>{count(metrics?.accepted)}</dd></div>
      <div title="in the newest batch, older than the watermark"><dt>late</dt><dd>{count(metrics?.late)}</dd></div>
      <div title="in the newest batch"><dt>undecodable</dt><dd>{count(metrics?.undecodable)}</dd></div>
      <div><dt>watermark (UTC)</dt><dd>{instant(metrics?.watermark)}</dd></div>
      {live.problem !== null && <p class="problem-line">{live.problem}</p>}
    </dl>
  );
}
