/** Every call that the pages make, one function each. `docs/design/frontend-contract.md` says what they mean. */
import type {
  AccountName,
  AlertDelivery,
  AlertRule,
  AlertRuleWrite,
  Alternative,
  Arrivals,
  AuditEntry,
  Check,
  Connector,
  Conversion,
  DeadLetters,
  DeployAnswer,
  Explanation,
  Forecasts,
  Impact,
  Me,
  NewToken,
  Outlook,
  Pin,
  PlanDocument,
  Preview,
  Provenance,
  QueryDocument,
  QueryResults,
  QueryVersion,
  RunDocument,
  RunLog,
  SampleRows,
  StreamChange,
  StreamDocument,
  StreamWrite,
  TokenDocument,
  TopologyDocument,
  TopologyJob,
  TopologyPlanner,
  TopologyTasks,
  Validation,
} from "./documents";
import { answered, client, done, refusalFrom } from "./request";

const signalled = (signal: AbortSignal | undefined): { signal?: AbortSignal } =>
  signal === undefined ? {} : { signal };

export const listStreams = async (): Promise<StreamDocument[]> => answered(await client.GET("/api/streams/"));
export const listConnectors = async (): Promise<Connector[]> =>
  answered(await client.GET("/api/connectors/"));
export const sampleStream = async (name: string, limit: number): Promise<SampleRows> =>
  answered(await client.GET("/api/streams/{name}/sample/", { params: { path: { name }, query: { limit } } }));

export const createStream = async (stream: StreamWrite): Promise<StreamDocument> =>
  answered(await client.POST("/api/streams/", { body: stream }));
/** Every field may be left out; the OpenAPI document cannot say so of fields that have a default. */
export const changeStream = async (name: string, changes: Partial<StreamChange>): Promise<StreamDocument> =>
  answered(
    await client.PATCH("/api/streams/{name}/", { params: { path: { name } }, body: changes as StreamChange }),
  );
/** An answer without a body: only refusals matter. */
export const deleteStream = async (name: string): Promise<void> =>
  done(await client.DELETE("/api/streams/{name}/", { params: { path: { name } } }));
export const streamArrivals = async (name: string, limit: number): Promise<Arrivals[]> =>
  answered(
    await client.GET("/api/streams/{name}/arrivals/", { params: { path: { name }, query: { limit } } }),
  );
export const streamImpact = async (name: string): Promise<Impact> =>
  answered(await client.GET("/api/streams/{name}/impact/", { params: { path: { name } } }));

export interface ChosenLetter {
  readonly topology: string;
  readonly id: string;
  /** Sent in place of the letter's own tuple. */
  readonly tuple?: Record<string, unknown>;
}
export const deadLetters = async (name: string, limit: number): Promise<DeadLetters> =>
  answered(
    await client.GET("/api/streams/{name}/dead-letters/", { params: { path: { name }, query: { limit } } }),
  );
export const redriveLetters = async (
  name: string,
  letters: readonly ChosenLetter[],
): Promise<{ count: number }> =>
  answered(
    await client.POST("/api/streams/{name}/dead-letters/redrive/", {
      params: { path: { name } },
      body: { letters: [...letters] },
    }),
  );
export const discardLetters = async (
  name: string,
  letters: readonly ChosenLetter[],
): Promise<{ count: number }> =>
  answered(
    await client.POST("/api/streams/{name}/dead-letters/discard/", {
      params: { path: { name } },
      body: { letters: letters.map(({ topology, id }) => ({ topology, id })) },
    }),
  );

export const readMe = async (): Promise<Me> => answered(await client.GET("/api/me/"));
export const listAccounts = async (): Promise<AccountName[]> => answered(await client.GET("/api/accounts/"));

export const listTokens = async (): Promise<TokenDocument[]> => answered(await client.GET("/api/tokens/"));
/** @param stream null for a token that may do what its owner may */
export const createToken = async (name: string, stream: string | null): Promise<NewToken> =>
  answered(await client.POST("/api/tokens/", { body: { name, stream } }));
export const revokeToken = async (id: number): Promise<void> =>
  done(await client.DELETE("/api/tokens/{id}/", { params: { path: { id: String(id) } } }));

export const listAlerts = async (): Promise<AlertRule[]> => answered(await client.GET("/api/alerts/"));
export const createAlert = async (rule: AlertRuleWrite): Promise<AlertRule> =>
  answered(await client.POST("/api/alerts/", { body: rule }));
export const deleteAlert = async (id: number): Promise<void> =>
  done(await client.DELETE("/api/alerts/{id}/", { params: { path: { id: String(id) } } }));
export const tryAlert = async (id: number): Promise<AlertDelivery> =>
  answered(await client.POST("/api/alerts/{id}/test/", { params: { path: { id: String(id) } } }));
export const alertDeliveries = async (id: number, limit: number): Promise<AlertDelivery[]> =>
  answered(
    await client.GET("/api/alerts/{id}/deliveries/", {
      params: { path: { id: String(id) }, query: { limit } },
    }),
  );

export const listQueries = async (search?: string): Promise<QueryDocument[]> =>
  answered(await client.GET("/api/queries/", { params: { query: search === undefined ? {} : { search } } }));
export const readQuery = async (id: number): Promise<QueryDocument> =>
  answered(await client.GET("/api/queries/{id}/", { params: { path: { id: String(id) } } }));
export const createQuery = async (query: {
  name: string;
  sql: string;
  description: string;
  tags: string[];
}): Promise<QueryDocument> => answered(await client.POST("/api/queries/", { body: query }));
export const describeQuery = async (
  id: number,
  changes: { description?: string; tags?: string[] },
): Promise<QueryDocument> =>
  answered(await client.PATCH("/api/queries/{id}/", { params: { path: { id: String(id) } }, body: changes }));
export const saveVersion = async (id: number, sql: string): Promise<QueryDocument> =>
  answered(
    await client.POST("/api/queries/{id}/versions/", { params: { path: { id: String(id) } }, body: { sql } }),
  );
export const listVersions = async (id: number): Promise<QueryVersion[]> =>
  answered(await client.GET("/api/queries/{id}/versions/", { params: { path: { id: String(id) } } }));
export const queryImpact = async (id: number): Promise<Impact> =>
  answered(await client.GET("/api/queries/{id}/impact/", { params: { path: { id: String(id) } } }));
export const markFavourite = async (id: number, wanted: boolean): Promise<QueryDocument> => {
  const where = { params: { path: { id: String(id) } } };
  if (wanted) return answered(await client.PUT("/api/queries/{id}/favourite/", where));
  return answered(await client.DELETE("/api/queries/{id}/favourite/", where));
};
export const transferQuery = async (id: number, owner: string, team: string | null): Promise<QueryDocument> =>
  answered(
    await client.POST("/api/queries/{id}/transfer/", {
      params: { path: { id: String(id) } },
      body: { owner, team },
    }),
  );
export const deleteQuery = async (id: number): Promise<void> =>
  done(await client.DELETE("/api/queries/{id}/", { params: { path: { id: String(id) } } }));
export const resultsFile = (id: number, form: "csv" | "json"): string =>
  `/api/queries/${id}/results/download/?form=${form}`;
export const deployQuery = async (id: number): Promise<DeployAnswer> =>
  answered(
    await client.POST("/api/queries/{id}/deploy/", { params: { path: { id: String(id) } }, body: {} }),
  );
export const undeployQuery = async (id: number): Promise<DeployAnswer> =>
  answered(await client.POST("/api/queries/{id}/undeploy/", { params: { path: { id: String(id) } } }));
export const queryResults = async (id: number, limit: number): Promise<QueryResults> =>
  answered(
    await client.GET("/api/queries/{id}/results/", {
      params: { path: { id: String(id) }, query: { limit } },
    }),
  );

/** Comparisons of what it published with a batch join, newest first. */
export const queryChecks = async (id: number, limit: number): Promise<Check[]> =>
  answered(
    await client.GET("/api/queries/{id}/checks/", { params: { path: { id: String(id) }, query: { limit } } }),
  );

/** @param name the query being edited, so that it does not read itself as a view */
export const validateSql = async (
  sql: string,
  name: string | null,
  signal?: AbortSignal,
): Promise<Validation> =>
  answered(
    await client.POST("/api/sql/validate/", { body: { sql, name: name ?? "" }, ...signalled(signal) }),
  );
export const formatSql = async (sql: string): Promise<{ sql: string }> =>
  answered(await client.POST("/api/sql/format/", { body: { sql } }));
export const explainSql = async (
  sql: string,
  name: string | null,
  signal?: AbortSignal,
): Promise<Explanation> =>
  answered(await client.POST("/api/sql/explain/", { body: { sql, name: name ?? "" }, ...signalled(signal) }));

/** What the draft would keep in a topology, and windows that would make it cheaper there. */
export const outlookSql = async (sql: string, name: string | null, signal?: AbortSignal): Promise<Outlook> =>
  answered(await client.POST("/api/sql/outlook/", { body: { sql, name: name ?? "" }, ...signalled(signal) }));
export const previewSql = async (sql: string, name: string | null, limit: number): Promise<Preview> =>
  answered(await client.POST("/api/sql/preview/", { body: { sql, name: name ?? "", limit } }));
/** A text of joins in any nesting, as multi-way joins. */
export const convertSql = async (sql: string): Promise<Conversion> =>
  answered(await client.POST("/api/sql/convert/", { body: { sql, name: "" } }));
export const resultProvenance = async (query: number, result: string): Promise<Provenance> =>
  answered(
    await client.GET("/api/queries/{id}/results/provenance/", {
      params: { path: { id: String(query) }, query: { id: result } },
    }),
  );

export const listTopologies = async (): Promise<TopologyDocument[]> =>
  answered(await client.GET("/api/topologies/"));
export const readTopology = async (name: string): Promise<TopologyDocument> =>
  answered(await client.GET("/api/topologies/{name}/", { params: { path: { name } } }));
/** @param planId null for the running plan, or the newest if none runs */
export const readPlan = async (
  name: string,
  planId: string | null,
  signal?: AbortSignal,
): Promise<PlanDocument> =>
  answered(
    await client.GET("/api/topologies/{name}/graph/", {
      params: { path: { name }, query: planId === null ? {} : { plan_id: planId } },
      ...signalled(signal),
    }),
  );
export const topologyImpact = async (name: string): Promise<Impact> =>
  answered(await client.GET("/api/topologies/{name}/impact/", { params: { path: { name } } }));
/** The same queries under other methods. */
export const planAlternatives = async (name: string, planId: string): Promise<Alternative[]> =>
  answered(
    await client.GET("/api/topologies/{name}/alternatives/", {
      params: { path: { name }, query: { plan_id: planId } },
    }),
  );
/** Unparsed: `live/messages.ts` checks it together with the events that follow. Without a session it says so and stays. */
export const readSnapshot = async (name: string): Promise<unknown> => {
  const { data, error, response } = await client.GET("/api/topologies/{name}/snapshot/", {
    params: { path: { name } },
  });
  if (!response.ok) throw refusalFrom(response.status, error);
  return data;
};
export const eventsUrl = (name: string, lastEventId: string): string =>
  `/api/topologies/${encodeURIComponent(name)}/events/?last_event_id=${encodeURIComponent(lastEventId)}`;
/** Whether a live connection would be let in, and if not, after how many seconds it may be asked again. */
export const askEvents = async (name: string): Promise<{ status: number; retryAfter: number | null }> => {
  const answer = await fetch(`/api/topologies/${encodeURIComponent(name)}/events/`, {
    method: "HEAD",
    credentials: "same-origin",
  });
  const seconds = Number(answer.headers.get("Retry-After") ?? "");
  return { status: answer.status, retryAfter: seconds > 0 ? seconds : null };
};
export const startTopology = async (name: string): Promise<TopologyDocument> =>
  answered(await client.POST("/api/topologies/{name}/start/", { params: { path: { name } } }));
export const stopTopology = async (name: string, mode: "now" | "drain"): Promise<TopologyDocument> =>
  answered(await client.POST("/api/topologies/{name}/stop/", { params: { path: { name } }, body: { mode } }));
export const restartTopology = async (name: string): Promise<TopologyDocument> =>
  answered(await client.POST("/api/topologies/{name}/restart/", { params: { path: { name } } }));
export const optimizeTopology = async (name: string): Promise<TopologyDocument> =>
  answered(await client.POST("/api/topologies/{name}/optimize/", { params: { path: { name } } }));

/** Over how many tasks the stores of each of its streams are spread. */
export const topologyTasks = async (name: string): Promise<TopologyTasks> =>
  answered(await client.GET("/api/topologies/{name}/tasks/", { params: { path: { name } } }));
/** @param tasks by stream; null leaves it to the load */
export const setTasks = async (name: string, tasks: Record<string, number | null>): Promise<TopologyTasks> =>
  answered(
    await client.PUT("/api/topologies/{name}/tasks/", { params: { path: { name } }, body: { tasks } }),
  );
/** @param bytes of the stores that may be in memory, from the next start on; null for no limit */
export const setMemoryLimit = async (name: string, bytes: number | null): Promise<TopologyDocument> =>
  answered(
    await client.PUT("/api/topologies/{name}/memory/", {
      params: { path: { name } },
      body: { memory_limit_bytes: bytes },
    }),
  );
/** How the topology's queries are planned, and what may be chosen. */
export const topologyPlanner = async (name: string): Promise<TopologyPlanner> =>
  answered(await client.GET("/api/topologies/{name}/planner/", { params: { path: { name } } }));
/** @param settings all of them; what is left out has its default */
export const setPlanner = async (name: string, settings: Record<string, unknown>): Promise<TopologyPlanner> =>
  answered(
    await client.PUT("/api/topologies/{name}/planner/", {
      params: { path: { name } },
      // Made from the same schema as the type.
      body: { settings: settings as TopologyPlanner["settings"] },
    }),
  );
/** How the topology's job works from its next start on, and what may be chosen. */
export const topologyJob = async (name: string): Promise<TopologyJob> =>
  answered(await client.GET("/api/topologies/{name}/job/", { params: { path: { name } } }));
/** @param settings what is left out has its default */
export const setJob = async (name: string, settings: Record<string, unknown>): Promise<TopologyJob> =>
  answered(
    await client.PUT("/api/topologies/{name}/job/", {
      params: { path: { name } },
      // Made from the same schema as the type.
      body: { settings: settings as TopologyJob["settings"] },
    }),
  );
/** @param topology null lets the optimizer decide */
export const pinQuery = async (id: number, topology: string | null): Promise<Pin> =>
  answered(
    await client.PUT("/api/queries/{id}/pin/", { params: { path: { id: String(id) } }, body: { topology } }),
  );
/** Unparsed: `live/messages.ts` checks it like the event that told of it. */
export const readEpoch = async (name: string, epoch: number): Promise<unknown> =>
  answered(
    await client.GET("/api/topologies/{name}/epochs/{epoch}/", {
      params: { path: { name, epoch: String(epoch) } },
    }),
  );

export const auditTrail = async (name: string, limit: number): Promise<AuditEntry[]> =>
  answered(
    await client.GET("/api/topologies/{name}/audit/", { params: { path: { name }, query: { limit } } }),
  );

export const listRuns = async (topology: string, limit: number): Promise<RunDocument[]> =>
  answered(await client.GET("/api/runs/", { params: { query: { topology, limit } } }));
export const runLog = async (id: string, tail: number): Promise<RunLog> =>
  answered(await client.GET("/api/runs/{id}/log/", { params: { path: { id }, query: { tail } } }));

/** @param topology "" for all */
export const readForecasts = async (topology: string, limit: number): Promise<Forecasts> =>
  answered(await client.GET("/api/forecasts/", { params: { query: { topology, limit } } }));
