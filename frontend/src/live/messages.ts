/** Live messages, checked at the socket. Written by `python -m tests.generated`: do not edit. */
import { z } from "zod";

const whole = z.number().int();

export const failedBatch = z.object({
  at: z.string(),
  batch: whole,
  error: z.string(),
  set_aside: z.record(z.string(), whole),
});
export type FailedBatch = z.infer<typeof failedBatch>;

export const givenUp = z.object({
  at: z.string(),
  plan_id: z.string(),
  batch: whole,
});
export type GivenUp = z.infer<typeof givenUp>;

export const historyPoint = z.object({
  batch: whole,
  at: z.string(),
  epoch: whole,
  seconds: z.number(),
  tuples_in: whole,
  backlog: whole.nullable(),
  results: whole.nullable(),
  latency_ms_p50: z.number().nullable(),
  latency_ms_p99: z.number().nullable(),
  state_bytes: whole,
  state_tuples: whole,
  level_seconds: z.array(z.number()),
});
export type HistoryPoint = z.infer<typeof historyPoint>;

export const liveStateEnum = z.enum(["stopped", "starting", "running", "idle", "stopping", "failed"]);
export type LiveStateEnum = z.infer<typeof liveStateEnum>;

export const phaseEnum = z.enum(["checkpoint", "spark", "query", "batch"]);
export type PhaseEnum = z.infer<typeof phaseEnum>;

export const switchPoint = z.object({
  at: z.string(),
  plan_id: z.string(),
  epoch: whole,
  batch: whole,
  cause: z.string(),
  moved: whole,
  seconds: z.number(),
});
export type SwitchPoint = z.infer<typeof switchPoint>;

export const waitingBatch = z.object({
  at: z.string(),
  batch: whole,
  reason: z.string(),
});
export type WaitingBatch = z.infer<typeof waitingBatch>;

export const appliedQuery = z.object({
  directory: z.string(),
  by: z.string().nullable(),
  by_is_service: z.boolean(),
  at: z.string(),
  /** Empty if it is as applied. */
  drift: z.array(z.string()),
});
export type AppliedQuery = z.infer<typeof appliedQuery>;

export const verdictEnum = z.enum(["equal", "differs", "unchecked"]);
export type VerdictEnum = z.infer<typeof verdictEnum>;

export const storePoint = z.object({
  /** Tuples stored in the last batch. Unit: tuples. */
  inserted: whole,
  /** Tuples evicted in the last batch. Unit: tuples. */
  evicted: whole,
  /** Tuples that came to probe in the last batch, copies counted. Unit: tuples. */
  probes: whole,
  /** Matches that probes found in the last batch. Unit: tuples. */
  matches: whole,
  /** Tuples that a store holds. Unit: tuples. */
  tuples: whole,
  /** Bytes that a store holds. Unit: bytes. */
  bytes: whole,
});
export type StorePoint = z.infer<typeof storePoint>;

export const shapeChange = z.object({
  before: z.string(),
  after: z.string(),
});
export type ShapeChange = z.infer<typeof shapeChange>;

export const coreUse = z.object({
  estimated: z.number().nullable(),
  measured: z.number(),
  reason: z.string().default(""),
});
export type CoreUse = z.infer<typeof coreUse>;

export const qErrorMetrics = z.object({
  median: z.number(),
  max: z.number(),
  worst: z.string(),
  estimated: z.number(),
  actual: z.number(),
});
export type QErrorMetrics = z.infer<typeof qErrorMetrics>;

export const elementRate = z.object({
  estimated: z.number().nullable(),
  actual: z.number(),
});
export type ElementRate = z.infer<typeof elementRate>;

export const edgeMetrics = z.object({
  /** Tuples sent in the last batch, before copies. Unit: tuples. */
  tuples: whole.default(0),
  /** Messages sent in the last batch. Unit: messages. */
  messages: whole.default(0),
  /** Bytes of the values sent in the last batch; a text counts with its length. Unit: bytes. */
  bytes: whole.default(0),
});
export type EdgeMetrics = z.infer<typeof edgeMetrics>;

export const queryMetrics = z.object({
  /** Results of the last batch. Unit: results. */
  results: whole.default(0),
  /** Rows of the last batch for which a function or an expression raised: they count as NULL. Unit: rows. */
  failed_calls: whole.default(0),
  /** From a tuple's arrival to its results, of the last minute's results. Unit: ms. */
  latency_ms_p50: z.number().nullable(),
  /** From a tuple's arrival to its results, of the last minute's results. Unit: ms. */
  latency_ms_p99: z.number().nullable(),
  /** Since when results cover the whole window; null while it fills. Unit: UTC. */
  complete_since: z.string().nullable(),
  /** Results of this batch with an older newest tuple may miss; null if all are there. Unit: UTC. */
  missing_before: z.string().nullable().default(null),
  joining: z.array(z.string()).default([]),
});
export type QueryMetrics = z.infer<typeof queryMetrics>;

export const storeMetrics = z.object({
  /** Tuples stored in the last batch. Unit: tuples. */
  inserted: whole.default(0),
  /** Tuples evicted in the last batch. Unit: tuples. */
  evicted: whole.default(0),
  /** Tuples that came to probe in the last batch, copies counted. Unit: tuples. */
  probes: whole.default(0),
  /** Matches that probes found in the last batch. Unit: tuples. */
  matches: whole.default(0),
  /** Tuples that a store holds. Unit: tuples. */
  tuples: whole,
  /** Bytes that a store holds. Unit: bytes. */
  bytes: whole,
  /** Tuples held by each task. Unit: tuples. */
  per_task: z.array(whole),
});
export type StoreMetrics = z.infer<typeof storeMetrics>;

export const streamMetrics = z.object({
  /** Accepted tuples of the last batch. Unit: tuples. */
  accepted: whole.default(0),
  /** Late tuples of the last batch. Unit: tuples. */
  late: whole.default(0),
  /** Unreadable tuples of the last batch, with those that were set aside. Unit: tuples. */
  undecodable: whole.default(0),
  /** The stream's watermark; null before its first tuple. Unit: UTC. */
  watermark: z.string().nullable(),
  /** The newest event time so far. Unit: UTC. */
  max_event_time: z.string().nullable(),
  position: z.string().nullable().default(null),
  /** Tuples that the batch failed with, see BatchFailed. Unit: tuples. */
  set_aside: whole.default(0),
  /** Files of its history that were read; null once it is live, or without one. Unit: files. */
  history_files_read: whole.nullable().default(null),
  /** Files that its history has so far; null once it is live, or without one. Unit: files. */
  history_files: whole.nullable().default(null),
});
export type StreamMetrics = z.infer<typeof streamMetrics>;

export const batchFailed = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("batch_failed"),
  plan_id: z.string(),
  batch: whole,
  error: z.string(),
  set_aside: z.record(z.string(), whole),
});
export type BatchFailed = z.infer<typeof batchFailed>;

export const batchGivenUp = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("batch_given_up"),
  plan_id: z.string(),
  batch: whole,
  steps: z.record(z.string(), whole),
  most: whole,
  failed: z.record(z.string(), z.string()).optional(),
});
export type BatchGivenUp = z.infer<typeof batchGivenUp>;

export const batchWaits = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("batch_waits"),
  plan_id: z.string(),
  batch: whole,
  reason: z.string(),
});
export type BatchWaits = z.infer<typeof batchWaits>;

export const deployRefused = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("deploy_refused"),
  plan_id: z.string(),
  reason: z.string(),
});
export type DeployRefused = z.infer<typeof deployRefused>;

export const heartbeat = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("heartbeat"),
  state: z.enum(["starting", "running", "idle", "stopping"]),
  batch: whole,
  phase: z.enum(["checkpoint", "spark", "query", "batch"]).nullable().default(null),
});
export type Heartbeat = z.infer<typeof heartbeat>;

export const jobFailed = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("job_failed"),
  error: z.string(),
  detail: z.string(),
  final: z.boolean().default(false),
});
export type JobFailed = z.infer<typeof jobFailed>;

export const jobStarted = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("job_started"),
  pid: whole,
  host: z.string(),
  plan_id: z.string(),
  batch: whole,
});
export type JobStarted = z.infer<typeof jobStarted>;

export const jobStopped = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("job_stopped"),
  reason: z.string(),
});
export type JobStopped = z.infer<typeof jobStopped>;

export const planSwitched = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("plan_switched"),
  plan_id: z.string(),
  epoch: whole,
  batch: whole,
  cause: z.string(),
  moved: whole.default(0),
  seconds: z.number().default(0.0),
});
export type PlanSwitched = z.infer<typeof planSwitched>;

export const check = z.object({
  at: z.string(),
  topology: z.string(),
  version: whole,
  plan_id: z.string(),
  verdict: verdictEnum,
  /** what could not be compared, and why; null if all was */
  reason: z.string().nullable(),
  first_batch: whole.nullable(),
  last_batch: whole.nullable(),
  event_from: z.string().nullable(),
  event_to: z.string().nullable(),
  tuples: whole,
  results: whole,
  expected: whole,
  compared: whole,
  missing: whole,
  extra: whole,
  /** some that are missing; values as JSON */
  missing_rows: z.array(z.record(z.string(), z.unknown().nullable())),
  /** some that are too many */
  extra_rows: z.array(z.record(z.string(), z.unknown().nullable())),
  share: z.number(),
  seconds: z.number(),
});
export type Check = z.infer<typeof check>;

export const storesPoint = z.object({
  batch: whole,
  stores: z.record(z.string(), storePoint),
});
export type StoresPoint = z.infer<typeof storesPoint>;

export const shapePoint = z.object({
  at: z.string(),
  plan_id: z.string(),
  epoch: whole,
  batch: whole,
  stores: z.record(z.string(), shapeChange),
  moved: whole,
  seconds: z.number(),
});
export type ShapePoint = z.infer<typeof shapePoint>;

export const shapesChanged = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("shapes_changed"),
  plan_id: z.string(),
  epoch: whole,
  batch: whole,
  stores: z.record(z.string(), shapeChange),
  moved: whole,
  seconds: z.number(),
});
export type ShapesChanged = z.infer<typeof shapesChanged>;

export const epochPoint = z.object({
  epoch: whole,
  at: z.string(),
  plan_id: z.string(),
  first_batch: whole,
  last_batch: whole,
  event_seconds: z.number(),
  sent: whole,
  q_error: qErrorMetrics.nullable(),
  total_cores: coreUse.nullable(),
});
export type EpochPoint = z.infer<typeof epochPoint>;

export const epochCompleted = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("epoch"),
  epoch: whole,
  plan_id: z.string(),
  first_batch: whole,
  last_batch: whole,
  event_seconds: z.number(),
  until_us: whole.nullable().default(null),
  accepted: z.record(z.string(), whole),
  edges: z.record(z.string(), whole),
  rules: z.record(z.string(), whole),
  held: z.record(z.string(), whole),
  sent: whole,
  rates: z.record(z.string(), elementRate),
  stores: z.record(z.string(), z.number()).default({}),
  cores: z.record(z.string(), coreUse).default({}),
  total_cores: coreUse.nullable().default(null),
  shapes: z.record(z.string(), z.array(whole)).default({}),
  process_cores: z.number().nullable().default(null),
  q_error: qErrorMetrics.nullable(),
});
export type EpochCompleted = z.infer<typeof epochCompleted>;

export const batchCompleted = z.object({
  version: z.literal(1),
  run: z.string(),
  at: z.string(),
  type: z.literal("batch"),
  /** The last committed batch. Unit: number. */
  batch: whole,
  epoch: whole,
  plan_id: z.string(),
  /** Duration of the last batch. Unit: seconds. */
  seconds: z.number(),
  /** Tuples that the last batch read. Unit: tuples. */
  tuples_in: whole,
  /** Tuples that wait at the sources. Unit: tuples. */
  backlog: whole.nullable(),
  level_seconds: z.array(z.number()),
  streams: z.record(z.string(), streamMetrics),
  stores: z.record(z.string(), storeMetrics),
  edges: z.record(z.string(), edgeMetrics),
  queries: z.record(z.string(), queryMetrics),
  /** Median latency, last minute's results. Unit: ms. */
  latency_ms_p50: z.number().nullable().default(null),
  /** 99th percentile of the same. Unit: ms. */
  latency_ms_p99: z.number().nullable().default(null),
  /** Most of the stores in memory, last batch. Unit: bytes. */
  resident_bytes: whole.nullable().default(null),
  shapes: z.record(z.string(), z.array(whole)).default({}),
  /** The topology's watermark, under which it ran. Unit: UTC. */
  watermark: z.string().nullable().default(null),
});
export type BatchCompleted = z.infer<typeof batchCompleted>;

export const correctness = z.object({
  newest: check,
  /** when this version last differed; null: never */
  differed_at: z.string().nullable(),
});
export type Correctness = z.infer<typeof correctness>;

export const liveEvent = z.discriminatedUnion("type", [jobStarted, heartbeat, batchCompleted, epochCompleted, planSwitched, shapesChanged, batchFailed, batchWaits, batchGivenUp, deployRefused, jobStopped, jobFailed]);
export type LiveEvent = z.infer<typeof liveEvent>;

export const topologyQuery = z.object({
  id: whole,
  name: z.string(),
  version: whole,
  /** why it is not answered; null if it is */
  suspended: z.string().nullable(),
  /** null: not checked yet */
  correctness: correctness.nullable(),
  /** null: no directory has it */
  applied: appliedQuery.nullable(),
  /** the topology to which an operator pinned it; null: wherever it is put */
  pinned: z.string().nullable(),
});
export type TopologyQuery = z.infer<typeof topologyQuery>;

export const snapshot = z.object({
  last_event_id: z.string(),
  state: liveStateEnum,
  error: z.string().nullable(),
  run: z.string().nullable(),
  plan_id: z.string().nullable(),
  epoch: whole.nullable(),
  heartbeat_at: z.string().nullable(),
  launched_at: z.string().nullable(),
  phase: phaseEnum.nullable(),
  batch: batchCompleted.nullable(),
  history: z.array(historyPoint),
  store_history: z.array(storesPoint),
  switches: z.array(switchPoint),
  shapes: z.array(shapePoint),
  given_up: givenUp.nullable(),
  failed_batch: failedBatch.nullable(),
  waiting_batch: waitingBatch.nullable(),
  epochs: z.array(epochPoint),
  statistics: epochCompleted.nullable(),
  queries: z.array(topologyQuery),
});
export type Snapshot = z.infer<typeof snapshot>;

/** The names under which the events arrive, `reset` apart. */
export const EVENT_TYPES = ["batch", "batch_failed", "batch_given_up", "batch_waits", "deploy_refused", "epoch", "heartbeat", "job_failed", "job_started", "job_stopped", "plan_switched", "shapes_changed"] as const;
