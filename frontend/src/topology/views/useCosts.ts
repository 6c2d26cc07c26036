import { useEffect, useState } from "preact/hooks";
import type { Costs, PlanDocument } from "../../api/documents";
import { answered, at, client, explainError } from "../../api/request";

/** What the parts of a plan cost, asked for once per plan: a plan never changes. */
export function useCosts(
  topology: string,
  plan: PlanDocument | null,
): { readonly value: Costs | null; readonly problem: string | null } {
  const planId = plan?.plan_id ?? null;
  const [state, setState] = useState<{
    planId: string;
    value: Costs | null;
    problem: string | null;
  } | null>(null);
  useEffect(() => {
    if (planId === null) return undefined;
    const control = new AbortController();
    const where = at({ name: topology }, { plan_id: planId });
    answered(client.GET("/api/topologies/{name}/costs/", { ...where, signal: control.signal })).then(
      (value) => setState({ planId, value, problem: null }),
      (error: unknown) => {
        if (!control.signal.aborted) setState({ planId, value: null, problem: explainError(error) });
      },
    );
    return () => control.abort();
  }, [topology, planId]);
  return planId === null || state?.planId !== planId ? { value: null, problem: null } : state;
}
