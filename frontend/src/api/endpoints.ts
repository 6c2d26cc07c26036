/** Every call that the pages make, one function each. `docs/frontend-contract.md` says what they mean. */
import type {
  DeployAnswer,
  Explanation,
  PlanDocument,
  QueryDocument,
  QueryResults,
  QueryVersion,
  RunDocument,
  RunLog,
  SampleRows,
  StreamDocument,
  TopologyDocument,
  Validation,
} from "./documents";
import { request } from "./request";

const at = encodeURIComponent;

export const listStreams = (): Promise<StreamDocument[]> => request("GET", "/api/streams/");
export const createStream = (stream: unknown): Promise<StreamDocument> => request("POST", "/api/streams/", stream);
export const sampleStream = (name: string, limit: number, signal?: AbortSignal): Promise<SampleRows> =>
  request("GET", `/api/streams/${at(name)}/sample/?limit=${limit}`, undefined, signal);

export const listQueries = (search = ""): Promise<QueryDocument[]> =>
  request("GET", search === "" ? "/api/queries/" : `/api/queries/?search=${at(search)}`);
export const readQuery = (id: number): Promise<QueryDocument> => request("GET", `/api/queries/${id}/`);
export const createQuery = (query: {
  name: string;
  sql: string;
  description: string;
  tags: readonly string[];
}): Promise<QueryDocument> => request("POST", "/api/queries/", query);
export const describeQuery = (
  id: number,
  changes: { description?: string; tags?: readonly string[] },
): Promise<QueryDocument> => request("PATCH", `/api/queries/${id}/`, changes);
export const listVersions = (id: number): Promise<QueryVersion[]> => request("GET", `/api/queries/${id}/versions/`);
export const saveVersion = (id: number, sql: string): Promise<QueryDocument> =>
  request("POST", `/api/queries/${id}/versions/`, { sql });
export const deployQuery = (id: number): Promise<DeployAnswer> => request("POST", `/api/queries/${id}/deploy/`, {});
export const undeployQuery = (id: number): Promise<DeployAnswer> => request("POST", `/api/queries/${id}/undeploy/`, {});
export const queryResults = (id: number, limit: number, signal?: AbortSignal): Promise<QueryResults> =>
  request("GET", `/api/queries/${id}/results/?limit=${limit}`, undefined, signal);

export const validateSql = (sql: string, name: string | null, signal?: AbortSignal): Promise<Validation> =>
  request("POST", "/api/sql/validate/", name === null ? { sql } : { sql, name }, signal);
export const formatSql = (sql: string): Promise<{ sql: string }> => request("POST", "/api/sql/format/", { sql });
export const explainSql = (sql: string, name: string | null, signal?: AbortSignal): Promise<Explanation> =>
  request("POST", "/api/sql/explain/", name === null ? { sql } : { sql, name }, signal);

export const listTopologies = (): Promise<TopologyDocument[]> => request("GET", "/api/topologies/");
export const readTopology = (name: string): Promise<TopologyDocument> => request("GET", `/api/topologies/${at(name)}/`);
export const readPlan = (name: string, planId: string | null, signal?: AbortSignal): Promise<PlanDocument> =>
  request(
    "GET",
    `/api/topologies/${at(name)}/graph/${planId === null ? "" : `?plan_id=${at(planId)}`}`,
    undefined,
    signal,
  );
export const readSnapshot = (name: string): Promise<unknown> => request("GET", `/api/topologies/${at(name)}/snapshot/`);
export const eventsUrl = (name: string, lastEventId: string): string =>
  `/api/topologies/${at(name)}/events/?last_event_id=${at(lastEventId)}`;
export const startTopology = (name: string): Promise<TopologyDocument> =>
  request("POST", `/api/topologies/${at(name)}/start/`, {});
export const stopTopology = (name: string, mode: "now" | "drain"): Promise<TopologyDocument> =>
  request("POST", `/api/topologies/${at(name)}/stop/`, { mode });
export const restartTopology = (name: string): Promise<TopologyDocument> =>
  request("POST", `/api/topologies/${at(name)}/restart/`, {});
export const optimizeTopology = (name: string): Promise<TopologyDocument> =>
  request("POST", `/api/topologies/${at(name)}/optimize/`, {});

export const listRuns = (topology: string): Promise<RunDocument[]> =>
  request("GET", `/api/runs/?topology=${at(topology)}&limit=20`);
export const runLog = (id: string, tail: number): Promise<RunLog> => request("GET", `/api/runs/${at(id)}/log/?tail=${tail}`);
