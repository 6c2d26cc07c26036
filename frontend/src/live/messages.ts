/** Live messages, checked at the socket: events of `jobs.protocol` and the backend's snapshot. */
import { z } from "zod";

const whole = z.number().int();

const storeMetrics = z.object({
  tuples: whole,
  bytes: whole,
  inserted: whole,
  evicted: whole,
  probes: whole,
  matches: whole,
  per_task: z.array(whole),
});
const edgeMetrics = z.object({ tuples: whole, messages: whole, bytes: whole });
const streamMetrics = z.object({
  accepted: whole,
  late: whole,
  undecodable: whole,
  watermark: z.string().nullable(),
  max_event_time: z.string().nullable(),
});
const queryMetrics = z.object({
  results: whole,
  latency_ms_p50: z.number().nullable(),
  latency_ms_p99: z.number().nullable(),
  complete_since: z.string().nullable(),
  failed_calls: whole.optional(),
});

const shared = { version: z.literal(1), run: z.string(), at: z.string() };

export const batchCompleted = z.object({
  ...shared,
  type: z.literal("batch"),
  batch: whole,
  epoch: whole,
  plan_id: z.string(),
  seconds: z.number(),
  tuples_in: whole,
  backlog: whole.nullable(),
  level_seconds: z.array(z.number()),
  streams: z.record(z.string(), streamMetrics),
  stores: z.record(z.string(), storeMetrics),
  edges: z.record(z.string(), edgeMetrics),
  queries: z.record(z.string(), queryMetrics),
  resident_bytes: whole.nullish(),
});

const qError = z.object({
  median: z.number(),
  max: z.number(),
  worst: z.string(),
  estimated: z.number(),
  actual: z.number(),
});

export const epochCompleted = z.object({
  ...shared,
  type: z.literal("epoch"),
  epoch: whole,
  plan_id: z.string(),
  first_batch: whole,
  last_batch: whole,
  event_seconds: z.number(),
  accepted: z.record(z.string(), whole),
  edges: z.record(z.string(), whole),
  rules: z.record(z.string(), whole),
  held: z.record(z.string(), whole),
  sent: whole,
  rates: z.record(z.string(), z.object({ estimated: z.number().nullable(), actual: z.number() })),
  q_error: qError.nullable(),
});

export const liveEvent = z.discriminatedUnion("type", [
  z.object({
    ...shared,
    type: z.literal("job_started"),
    pid: whole,
    host: z.string(),
    plan_id: z.string(),
    batch: whole,
  }),
  z.object({
    ...shared,
    type: z.literal("heartbeat"),
    state: z.enum(["starting", "running", "idle", "stopping"]),
    batch: whole,
  }),
  batchCompleted,
  epochCompleted,
  z.object({
    ...shared,
    type: z.literal("plan_switched"),
    plan_id: z.string(),
    epoch: whole,
    batch: whole,
    cause: z.string(),
  }),
  z.object({
    ...shared,
    type: z.literal("batch_given_up"),
    plan_id: z.string(),
    batch: whole,
    steps: z.record(z.string(), whole),
    most: whole,
  }),
  z.object({
    ...shared,
    type: z.literal("batch_failed"),
    plan_id: z.string(),
    batch: whole,
    error: z.string(),
    set_aside: z.record(z.string(), whole),
  }),
  z.object({ ...shared, type: z.literal("deploy_refused"), plan_id: z.string(), reason: z.string() }),
  z.object({ ...shared, type: z.literal("job_stopped"), reason: z.string() }),
  z.object({ ...shared, type: z.literal("job_failed"), error: z.string(), detail: z.string() }),
]);

/** The names under which the events arrive, `reset` apart. */
export const EVENT_TYPES = [
  "job_started",
  "heartbeat",
  "batch",
  "epoch",
  "plan_switched",
  "batch_failed",
  "batch_given_up",
  "deploy_refused",
  "job_stopped",
  "job_failed",
] as const;

const historyPoint = z.object({
  batch: whole,
  at: z.string(),
  epoch: whole,
  seconds: z.number(),
  tuples_in: whole,
  backlog: whole.nullable(),
  results: whole,
  latency_ms_p50: z.number().nullable(),
  latency_ms_p99: z.number().nullable(),
  state_bytes: z.number(),
  state_tuples: z.number(),
  level_seconds: z.array(z.number()),
});

const storePoint = z.object({
  tuples: whole,
  bytes: whole,
  inserted: whole,
  evicted: whole,
  probes: whole,
  matches: whole,
});
const storesPoint = z.object({ batch: whole, stores: z.record(z.string(), storePoint) });

const epochPoint = z.object({
  epoch: whole,
  at: z.string(),
  plan_id: z.string(),
  first_batch: whole,
  last_batch: whole,
  event_seconds: z.number(),
  sent: whole,
  q_error: qError.nullable(),
});

export const snapshot = z.object({
  last_event_id: z.string(),
  state: z.enum(["stopped", "starting", "running", "idle", "stopping", "failed"]),
  error: z.string().nullable(),
  run: z.string().nullable(),
  plan_id: z.string().nullable(),
  epoch: whole.nullable(),
  heartbeat_at: z.string().nullable(),
  batch: batchCompleted.nullable(),
  history: z.array(historyPoint),
  store_history: z.array(storesPoint),
  switches: z.array(
    z.object({ at: z.string(), plan_id: z.string(), epoch: whole, batch: whole, cause: z.string() }),
  ),
  given_up: z.object({ at: z.string(), plan_id: z.string(), batch: whole }).nullable(),
  failed_batch: z
    .object({ at: z.string(), batch: whole, error: z.string(), set_aside: z.record(z.string(), whole) })
    .nullable(),
  epochs: z.array(epochPoint),
  statistics: epochCompleted.nullable(),
  queries: z.array(z.object({ id: whole, name: z.string(), version: whole })),
});

export type BatchCompleted = z.infer<typeof batchCompleted>;
export type EpochCompleted = z.infer<typeof epochCompleted>;
export type EpochPoint = z.infer<typeof epochPoint>;
export type StoreMetrics = z.infer<typeof storeMetrics>;
export type LiveEvent = z.infer<typeof liveEvent>;
export type HistoryPoint = z.infer<typeof historyPoint>;
export type StorePoint = z.infer<typeof storePoint>;
export type StoresPoint = z.infer<typeof storesPoint>;
export type Snapshot = z.infer<typeof snapshot>;
