import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, at, client, type Reply } from "../api/request";
import { Button } from "../ui/Button";
import { useRequest } from "../ui/useRequest";
import { RestartDialog } from "./RestartDialog";
import { StopDialog } from "./StopDialog";

interface Props {
  readonly topology: TopologyDocument;
  readonly operator: boolean;
  readonly onDone: () => void;
  /** What is asked at once, as if its button had been pressed. */
  readonly ask?: string | null;
}

type Question = "stop" | "restart" | null;

function questionOf(text: string | null): Question {
  return text === "stop" || text === "restart" ? text : null;
}

/** Start, stop, restart and plan again, as far as the state and the person's rights allow. */
export function TopologyActions({ topology, operator, onDone, ask = null }: Props): JSX.Element {
  const { busy, problem, send } = useRequest();
  const alive = topology.state !== "stopped" && topology.state !== "failed";
  const [asking, setAsking] = useState(() => (operator && alive ? questionOf(ask) : null));
  const where = at({ name: topology.name });
  const run = (call: Promise<Reply<unknown>>): void => send(answered(call), onDone);
  const why = operator ? undefined : "Only operators may do this.";
  const off = busy || !operator;
  return (
    <span class="actions">
      {problem !== null && (
        <span class="problem-line" role="alert">
          {problem}
        </span>
      )}
      <Button
        disabled={off || topology.queries.length === 0}
        title={why}
        onClick={() => run(client.POST("/api/topologies/{name}/optimize/", where))}
      >
        Re-optimize
      </Button>
      {!alive && (
        <Button
          kind="primary"
          disabled={off}
          title={why}
          onClick={() => run(client.POST("/api/topologies/{name}/start/", where))}
        >
          Start
        </Button>
      )}
      {(alive || topology.state === "failed") && (
        <Button
          disabled={off}
          title={why}
          onClick={() =>
            alive ? setAsking("restart") : run(client.POST("/api/topologies/{name}/restart/", where))
          }
        >
          {alive ? "Restart…" : "Restart"}
        </Button>
      )}
      {(alive || topology.desired === "running") && (
        <Button
          kind="danger"
          disabled={off || topology.state === "stopping"}
          title={why}
          onClick={() => setAsking("stop")}
        >
          Stop…
        </Button>
      )}
      {asking === "stop" && (
        <StopDialog
          topology={topology}
          onClose={() => setAsking(null)}
          onStop={(mode) => {
            setAsking(null);
            run(
              client.POST("/api/topologies/{name}/stop/", {
                ...where,
                body: { mode },
              }),
            );
          }}
        />
      )}
      {asking === "restart" && (
        <RestartDialog
          topology={topology}
          onClose={() => setAsking(null)}
          onRestart={() => {
            setAsking(null);
            run(client.POST("/api/topologies/{name}/restart/", where));
          }}
        />
      )}
    </span>
  );
}
