import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TopologyDocument } from "../api/documents";
import { answered, at, client } from "../api/request";
import { Button } from "../ui/Button";
import { submits } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useRequest } from "../ui/useRequest";
import { fieldOf, limitOf, limitText, limitUntilRestart } from "./memoryLimit";

interface Props {
  readonly topology: TopologyDocument;
  readonly operator: boolean;
  readonly onDone: () => void;
}

/**
 * How much of the topology's stores may be in memory: what was set, what the process has, and a form to set
 * it.
 */
export function MemoryForm({ topology, operator, onDone }: Props): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  const [kept, setKept] = useState(false);
  const { busy, problem, send } = useRequest();
  const field = typed ?? fieldOf(topology.memory_limit_bytes);
  const found = limitOf(field);
  const waiting = limitUntilRestart(topology);
  const keep = (): void => {
    setKept(false);
    send(
      answered(
        client.PUT("/api/topologies/{name}/memory/", {
          ...at({ name: topology.name }),
          body: { memory_limit_bytes: found.limit },
        }),
      ),
      () => {
        setTyped(null);
        setKept(true);
        onDone();
      },
    );
  };
  return (
    <form class="scale" onSubmit={submits(keep)}>
      <p class="muted small">
        Limits how much of the stores is held in memory; the rest is read from disk when probes need it, and
        results stay the same. The current batch, Python and Java need about 1.2 GB more. Empty: no limit. A
        change takes effect when the job next starts.
      </p>
      <label>
        Memory limit of {topology.name}, MB{" "}
        <input
          type="text"
          inputMode="decimal"
          class="tasks"
          placeholder="none"
          disabled={!operator || busy}
          value={field}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setKept(false);
          }}
        />
      </label>{" "}
      <Button
        type="submit"
        disabled={!operator || busy || found.problem !== null || found.limit === topology.memory_limit_bytes}
        title={operator ? undefined : "Only operators may do this."}
      >
        Set limit
      </Button>
      <ProblemLine text={problem ?? found.problem} />
      <p class="muted" role="status">
        {kept && "Kept. "}
        {waiting !== null &&
          `The running process has ${limitText(waiting.limit)}; ` +
            `after its next start it has ${limitText(topology.memory_limit_bytes)}.`}
      </p>
    </form>
  );
}
