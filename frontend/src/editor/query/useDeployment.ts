import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryDocument } from "../../api/documents";
import { answered, at, client, explainError } from "../../api/request";
import { type Deployment, watchDeployment } from "./deployment";

/** The newest deployment of a query, and a way to ask for one. */
export function useDeployment(): {
  readonly deployment: Deployment | null;
  readonly deploy: (query: QueryDocument) => Promise<void>;
} {
  const [deployment, setDeployment] = useState<Deployment | null>(null);
  const watching = useRef(new AbortController());
  useEffect(() => () => watching.current.abort(), []);
  const deploy = async (query: QueryDocument): Promise<void> => {
    setDeployment({ kind: "asked" });
    const answer = await answered(
      client.POST("/api/queries/{id}/deploy/", { ...at({ id: query.id }), body: {} }),
    ).catch((error: unknown) => {
      setDeployment((before) => (before?.kind === "asked" ? null : before));
      throw error;
    });
    watching.current.abort();
    watching.current = new AbortController();
    watchDeployment(answer, setDeployment, watching.current.signal).catch((error: unknown) =>
      setDeployment({ kind: "failed", topology: answer.topology, reason: explainError(error) }),
    );
  };
  return { deployment, deploy };
}
