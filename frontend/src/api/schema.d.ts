/** Written by hand until the backend's OpenAPI document is in the tree; then `npm run types` replaces it. */
export interface components {
  schemas: {
    NamedColumn: { name: string; type: string };
    Me: { username: string; is_operator: boolean; is_staff: boolean };
    Problem: {
      code: string;
      line: number | null;
      column: number | null;
      end_column: number | null;
      path?: string | null;
      found: string;
      expected: string;
      suggestion: string | null;
      message: string;
    };
    Stream: {
      name: string;
      description: string;
      event_time: string;
      lateness_ms: number;
      late: "drop" | "join";
      parallelism: number | null;
      tuples_per_second: number | null;
      columns: components["schemas"]["NamedColumn"][];
      entries: number | null;
      query_count: number;
      owner: string;
      created_at: string;
    };
    StreamSample: { columns: components["schemas"]["NamedColumn"][]; rows: Record<string, unknown>[] };
    QueryInput: { alias: string; stream: string; window_ms: number | null };
    Query: {
      id: number;
      name: string;
      description: string;
      tags: string[];
      owner: string;
      sql: string;
      version: number;
      streams: string[];
      inputs: components["schemas"]["QueryInput"][];
      outputs: components["schemas"]["NamedColumn"][];
      status: "draft" | "deploying" | "running" | "stopped" | "failed";
      topology: string | null;
      deployed_version: number | null;
      can_edit: boolean;
      created_at: string;
      updated_at: string;
    };
    QueryVersion: { number: number; sql: string; created_by: string; created_at: string };
    QueryResults: {
      columns: components["schemas"]["NamedColumn"][];
      rows: Record<string, unknown>[];
      ids: string[];
      batches: (number | null)[];
    };
    Validation: {
      ok: boolean;
      errors: components["schemas"]["Problem"][];
      inputs: components["schemas"]["QueryInput"][];
      outputs: components["schemas"]["NamedColumn"][];
    };
    Cost: { probe: number; storage: number; latency: number; total: number };
    Marginal: {
      topology: string;
      cost: components["schemas"]["Cost"];
      stores_new: number;
      stores_shared: number;
      probes_new: number;
      probes_shared: number;
      probe_percent: number | null;
    };
    Explanation: {
      text: string;
      cost: components["schemas"]["Cost"];
      individual_cost: number;
      method: string;
      status: string;
      bound: number | null;
      gap: number | null;
      graph: unknown;
      marginal: components["schemas"]["Marginal"] | null;
    };
    Run: {
      id: string;
      topology: string;
      state: string;
      attempt: number;
      pid: number | null;
      host: string;
      plan_id: string;
      created_at: string;
      started_at: string | null;
      heartbeat_at: string | null;
      ended_at: string | null;
      batch: number | null;
      error: string | null;
      error_detail: string | null;
    };
    RunLog: { lines: string[]; truncated: boolean };
    Deployment: {
      revision: number;
      planned_revision: number;
      active_revision: number;
      state: "none" | "planning" | "planned" | "active" | "failed";
      error: string | null;
    };
    Topology: {
      name: string;
      state: "stopped" | "starting" | "running" | "idle" | "stopping" | "failed";
      desired: string;
      trigger_ms: number;
      method: string;
      queries: { id: number; name: string; version: number }[];
      streams: string[];
      plan_id: string | null;
      run: components["schemas"]["Run"] | null;
      error: string | null;
      restarts: number;
      restart_at: string | null;
      deployment: components["schemas"]["Deployment"];
    };
    Plan: {
      plan_id: string;
      graph: unknown;
      cost: components["schemas"]["Cost"];
      individual_cost: number;
      method: string;
      status: string;
      bound: number | null;
      gap: number | null;
      seconds: { build: number; solve: number };
      text: string;
      created_at: string;
    };
    Deployed: { topology: string; revision: number; query: string; version: number };
  };
}
