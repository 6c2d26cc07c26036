import type { ComponentChildren, JSX } from "preact";
import type { TopologyDocument } from "../../api/documents";
import type { Snapshot } from "../../live/messages";
import { DriftLine } from "../../ui/DriftLine";
import { ProblemLine } from "../../ui/ProblemLine";
import { FailedBatchLine } from "./FailedBatchLine";

interface Props {
  readonly topology: TopologyDocument | null;
  readonly snapshot: Snapshot | null;
  /** Why the topology, or its plan, could not be loaded. */
  readonly loading: string | null;
  readonly planning: string | null;
}

/** Everything that is wrong with a topology, one line each. */
export function HeaderProblems({ topology, snapshot, loading, planning }: Props): JSX.Element {
  const failed = snapshot?.error ?? topology?.error ?? null;
  const failedBatch = snapshot?.failed_batch ?? null;
  const waiting = snapshot?.waiting_batch ?? null;
  const undeployed = topology?.deployment.error ?? null;
  return (
    <>
      <ProblemLine text={loading} />
      {failed !== null && snapshot?.state === "failed" && (
        <Alert>
          ✕ {failed} <a href="/jobs/">See its log</a>
        </Alert>
      )}
      {topology?.queries
        .filter((query) => query.suspended !== null)
        .map((query) => (
          <Alert key={query.id}>
            ⏸ {query.name} is suspended: {query.suspended}. Deploy it again once this is fixed.
          </Alert>
        ))}
      {topology?.queries.map((query) => (
        <DriftLine key={query.id} name={query.name} applied={query.applied} />
      ))}
      {failedBatch !== null && <FailedBatchLine failed={failedBatch} />}
      {waiting !== null && (
        <Alert>
          ⚠ Batch {waiting.batch} waits and is tried again: {waiting.reason}
        </Alert>
      )}
      {undeployed !== null && <ProblemLine text={`✕ ${undeployed}`} />}
      <ProblemLine text={planning} />
    </>
  );
}

function Alert({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="problem-line" role="alert">
      {children}
    </p>
  );
}
