import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, at, client } from "../api/request";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { ImpactFacts } from "../ui/dialog/ImpactFacts";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";

interface Props {
  readonly topology: TopologyDocument;
  readonly onStop: (mode: "now" | "drain") => void;
  readonly onClose: () => void;
}

/** Says what a stop ends and what it keeps, and asks for the topology's name. */
export function StopDialog({ topology, onStop, onClose }: Props): JSX.Element {
  const [mode, setMode] = useState<"now" | "drain">("now");
  const impact = useLoaded(() =>
    answered(client.GET("/api/topologies/{name}/impact/", at({ name: topology.name }))),
  );
  return (
    <ConfirmDialog
      title={`Stop ${topology.name}?`}
      name={topology.name}
      confirm="Stop"
      keep="Keep it running"
      onConfirm={() => onStop(mode)}
      onClose={onClose}
    >
      <p>Stored tuples and the position in every stream are kept; starting again continues from there.</p>
      <ProblemLine text={impact.problem} />
      {impact.value !== null && (
        <ImpactFacts impact={impact.value} queriesSay={["gets no more results", "get no more results"]} />
      )}
      <fieldset>
        <legend>How</legend>
        <label>
          <input type="radio" name="mode" checked={mode === "now"} onChange={() => setMode("now")} /> after
          the running batch
        </label>
        <label>
          <input type="radio" name="mode" checked={mode === "drain"} onChange={() => setMode("drain")} />{" "}
          after everything that has arrived
        </label>
      </fieldset>
    </ConfirmDialog>
  );
}
