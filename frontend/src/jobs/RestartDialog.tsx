import type { JSX } from "preact";
import type { TopologyDocument } from "../api/documents";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";

interface Props {
  readonly topology: TopologyDocument;
  readonly onRestart: () => void;
  readonly onClose: () => void;
}

/** Says what a restart interrupts, and asks for the topology's name. */
export function RestartDialog({ topology, onRestart, onClose }: Props): JSX.Element {
  const { length } = topology.queries;
  return (
    <ConfirmDialog
      title={`Restart ${topology.name}?`}
      name={topology.name}
      confirm="Restart"
      keep="Leave it running"
      onConfirm={onRestart}
      onClose={onClose}
    >
      <p>
        Its process ends after the current batch, and a new one continues from there.{" "}
        {length === 1 ? "Its query waits" : `Its ${length} queries wait`} while Spark starts; no result is
        lost or duplicated.
      </p>
    </ConfirmDialog>
  );
}
