import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { topologyImpact } from "../api/endpoints";
import { ImpactFacts } from "../ui/ImpactFacts";
import { useLoaded } from "../ui/useLoaded";

interface Props {
  readonly topology: TopologyDocument;
  readonly onStop: (mode: "now" | "drain") => void;
  readonly onClose: () => void;
}

/** Says what a stop ends and what it keeps, and asks for the topology's name. */
export function StopDialog({ topology, onStop, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [mode, setMode] = useState<"now" | "drain">("now");
  useEffect(() => dialog.current?.showModal(), []);
  const impact = useLoaded(() => topologyImpact(topology.name));
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="stop-title" onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === topology.name) onStop(mode);
        }}
      >
        <h2 id="stop-title">Stop {topology.name}?</h2>
        <p>Stored tuples and the position in every stream are kept; starting again goes on from there.</p>
        {impact.problem !== null && <p class="problem-line" role="alert">{impact.problem}</p>}
        {impact.value !== null && <ImpactFacts impact={impact.value} queriesSay={impact.value.queries.length === 1 ? "gets no more results" : "get no more results"} />}
        <fieldset>
          <legend>How</legend>
          <label><input type="radio" name="mode" checked={mode === "now"} onChange={() => setMode("now")} /> after the running batch</label>
          <label><input type="radio" name="mode" checked={mode === "drain"} onChange={() => setMode("drain")} /> after all that has arrived</label>
        </fieldset>
        <label class="field">
          <span>Type <strong>{topology.name}</strong> to confirm</span>
          <input type="text" value={typed} autocomplete="off" autofocus onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>Keep it running</button>
          <button type="submit" class="button danger" disabled={typed !== topology.name}>Stop</button>
        </div>
      </form>
    </dialog>
  );
}
