/** What the topology's page asks the server for about plans, each once per plan or epoch. */
import { useEffect, useState } from "preact/hooks";
import type { Alternative, PlanDocument } from "../api/documents";
import { answered, at, client, explainError, Refusal } from "../api/request";
import { type Snapshot, snapshot } from "../live/messages";

/** A plan by its id, or the running one; fetched again whenever the id changes. */
export function usePlan(
  topology: string,
  planId: string | null,
): { plan: PlanDocument | null; problem: string | null; missing: boolean } {
  const [state, setState] = useState<{ plan: PlanDocument | null; problem: string | null; missing: boolean }>(
    { plan: null, problem: null, missing: false },
  );
  useEffect(() => {
    const control = new AbortController();
    const query = planId === null ? {} : { plan_id: planId };
    const where = at({ name: topology }, query);
    answered(client.GET("/api/topologies/{name}/graph/", { ...where, signal: control.signal })).then(
      (plan) => setState({ plan, problem: null, missing: false }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        const missing = error instanceof Refusal && error.status === 404;
        setState((before) => ({ ...before, missing, problem: missing ? null : explainError(error) }));
      },
    );
    return () => control.abort();
  }, [topology, planId]);
  return state;
}

/** Other methods' plans of the same queries, asked for once somebody wants to see them. */
export function useAlternatives(
  topology: string,
  planId: string | null,
): { value: readonly Alternative[] | null; problem: string | null } {
  const [state, setState] = useState<{
    planId: string;
    value: readonly Alternative[] | null;
    problem: string | null;
  } | null>(null);
  useEffect(() => {
    if (planId === null) return undefined;
    let newest = true;
    answered(
      client.GET("/api/topologies/{name}/alternatives/", at({ name: topology }, { plan_id: planId })),
    ).then(
      (value) => newest && setState({ planId, value, problem: null }),
      (error: unknown) => newest && setState({ planId, value: null, problem: explainError(error) }),
    );
    return () => {
      newest = false;
    };
  }, [topology, planId]);
  return planId === null || state?.planId !== planId ? { value: null, problem: null } : state;
}

/** What the topology did when a past epoch had ended; another epoch's stands until this one's is there. */
export function usePastSnapshot(
  topology: string,
  epoch: number | null,
): { value: Snapshot | null; problem: string | null } {
  const [state, setState] = useState<{ value: Snapshot | null; problem: string | null }>({
    value: null,
    problem: null,
  });
  useEffect(() => {
    if (epoch === null) {
      setState({ value: null, problem: null });
      return undefined;
    }
    let newest = true;
    answered(client.GET("/api/topologies/{name}/snapshot/", at({ name: topology }, { epoch }))).then(
      (document) => newest && setState({ value: snapshot.parse(document), problem: null }),
      (error: unknown) => {
        const gone = error instanceof Refusal && error.status === 404;
        const problem = gone ? `The numbers of epoch ${epoch} are no longer kept.` : explainError(error);
        if (newest) setState({ value: null, problem });
      },
    );
    return () => {
      newest = false;
    };
  }, [topology, epoch]);
  return state;
}
