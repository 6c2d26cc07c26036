/** The physical graph, as answers have it. Written by `python -m tests.generated`: do not edit. */
import { z } from "zod";

const whole = z.number();

export const column = z.object({
  input: z.string(),
  kind: z.literal("column"),
  name: z.string(),
  type: z.string(),
});
export type Column = z.infer<typeof column>;

export const derivation = z.object({
  edges: z.array(z.tuple([z.string(), z.string()])),
  label: z.string(),
  lag_us: whole,
  store: z.string(),
  tier: whole,
});
export type Derivation = z.infer<typeof derivation>;

export const estimate = z.object({
  cost: z.number().nullable().default(null),
  id: z.string(),
  tuples: z.number().nullable().default(null),
  tuples_per_second: z.number().nullable().default(null),
});
export type Estimate = z.infer<typeof estimate>;

export const folderFiles = z.object({
  /** What to do about a file that cannot be read as it was found; late is one with an earlier name. */
  faulty: z.enum(["fail", "skip"]).default("fail"),
  /** A directory that the operator allows, and folders below it, as landing/orders. */
  folder: z.string(),
  /** What the files are. */
  format: z.enum(["parquet", "csv", "json"]).default("parquet"),
  /** So many rows in a batch at most; empty leaves it to the batch's own bound. */
  most_per_batch: whole.nullable().default(null),
  /** Names of the files, with * and ? for what differs, as *.csv; they are read by name. */
  pattern: z.string().default("*"),
});
export type FolderFiles = z.infer<typeof folderFiles>;

export const folderHistory = z.object({
  faulty: z.enum(["fail", "skip"]).default("fail"),
  folder: z.string(),
  format: z.enum(["parquet", "csv", "json"]).default("parquet"),
  most_per_batch: whole.nullable().default(null),
  pattern: z.string().default("*"),
  /** Where the live part begins: earliest, latest (when the stream is first read), a time, an entry's id, or the offset of each partition as 0: 1200, 1: 1180. */
  start: z.string().default("earliest"),
});
export type FolderHistory = z.infer<typeof folderHistory>;

export const graphFunction = z.object({
  arguments: z.array(z.string()),
  cost_us: z.number(),
  name: z.string(),
  returns: z.string(),
});
export type GraphFunction = z.infer<typeof graphFunction>;

export const grid = z.object({
  groups: whole,
  kind: z.literal("grid"),
});
export type Grid = z.infer<typeof grid>;

export const grids = z.object({
  kind: z.literal("grids"),
  rows: z.array(whole),
});
export type Grids = z.infer<typeof grids>;

export const groupAggregate = z.object({
  arguments: z.array(z.string()),
  constant: z.union([z.number(), z.string()]).nullable().default(null),
  descending: z.array(z.boolean()).default([]),
  distinct: z.boolean(),
  function: z.string(),
  name: z.string(),
  nulls_first: z.array(z.boolean()).default([]),
  scheme: z.enum(["count", "exact_sum", "least", "greatest", "least_by", "greatest_by", "first_of", "last_of", "bits", "values", "pairs", "ordered"]),
  states: z.array(z.tuple([z.string(), z.string()])),
  type: z.string(),
  where: z.string().nullable(),
});
export type GroupAggregate = z.infer<typeof groupAggregate>;

export const kafkaTopic = z.object({
  /** What a record's value is. */
  format: z.enum(["json", "avro", "protobuf"]).default("json"),
  /** The column that a record's key goes to; none if keys mean nothing. */
  key: z.string().nullable().default(null),
  /** What to do if the topic no longer has what comes next. */
  lost: z.enum(["fail", "skip"]).default("fail"),
  /** About so many records in a batch at most; empty leaves it to the batch's own bound. */
  most_per_batch: whole.nullable().default(null),
  /** Whether a tuple's event time is its record's timestamp, or in the value. */
  record_time: z.boolean().default(false),
  /** Whether each value begins with the number of its own schema, in the deployment's registry. */
  registry: z.boolean().default(false),
  /** The Avro schema that values were written with, as JSON text. */
  schema: z.string().nullable().default(null),
  /** Values begin with a zero byte and this number in four bytes; empty for bare Avro. */
  schema_id: whole.nullable().default(null),
  /** Where to begin when the stream is first read. */
  start: z.enum(["earliest", "latest"]).default("earliest"),
  /** The name of a topic. */
  topic: z.string(),
});
export type KafkaTopic = z.infer<typeof kafkaTopic>;

export const literal = z.object({
  kind: z.literal("literal"),
  type: z.string(),
  value: z.union([z.boolean(), whole, z.number(), z.string()]).nullable(),
});
export type Literal = z.infer<typeof literal>;

export const look = z.object({
  back_us: whole.nullable(),
  store: z.string(),
});
export type Look = z.infer<typeof look>;

export const queryInput = z.object({
  alias: z.string(),
  input: z.string(),
  stream: z.string(),
  window_us: whole.nullable(),
});
export type QueryInput = z.infer<typeof queryInput>;

export const slices = z.object({
  count: whole,
  kind: z.literal("slices"),
  smoothed: z.boolean().default(true),
});
export type Slices = z.infer<typeof slices>;

export const storeRule = z.object({
  edge: z.string(),
  id: z.string(),
  kind: z.literal("store"),
  store: z.string(),
});
export type StoreRule = z.infer<typeof storeRule>;

export const storedInput = z.object({
  columns: z.array(z.string()),
  input: z.string(),
  stream: z.string(),
});
export type StoredInput = z.infer<typeof storedInput>;

export const windowBound = z.object({
  input: z.string(),
  window_us: whole.nullable(),
});
export type WindowBound = z.infer<typeof windowBound>;

export const found = z.object({
  edge: z.string(),
  newest: z.array(column).default([]),
  present: z.boolean(),
});
export type Found = z.infer<typeof found>;

export const edge = z.object({
  columns: z.array(column),
  id: z.string(),
  key: column.nullable(),
  kind: z.enum(["shuffle", "group_by", "all", "slices", "grid", "home", "group"]),
  level: whole,
  origin: z.string(),
  target: z.string(),
});
export type Edge = z.infer<typeof edge>;

export const graphStream = z.object({
  columns: z.array(z.tuple([z.string(), z.string()])),
  derived: derivation.nullable().default(null),
  event_time: z.string(),
  files: folderFiles.nullable().optional(),
  history: folderHistory.nullable().optional(),
  kafka: kafkaTopic.nullable().optional(),
  late: z.enum(["drop", "join"]),
  lateness_us: whole,
  max_ahead_us: whole.nullable().default(null),
  name: z.string(),
});
export type GraphStream = z.infer<typeof graphStream>;

export const call = z.object({
  get arguments() { return z.array(z.discriminatedUnion("kind", [column, literal, call])); },
  function: z.string(),
  kind: z.literal("call"),
  type: z.string(),
});
export type Call = z.infer<typeof call>;

export const graphQuery = z.object({
  inputs: z.array(queryInput),
  key: z.array(z.string()).nullable().default(null),
  marks_late: z.boolean(),
  name: z.string(),
  outputs: z.array(z.tuple([z.string(), z.string()])),
  sql: z.string(),
});
export type GraphQuery = z.infer<typeof graphQuery>;

export const graphStore = z.object({
  id: z.string(),
  inputs: z.array(storedInput),
  key: z.array(z.string()).default([]),
  label: z.string(),
  partitioning: z.discriminatedUnion("kind", [column, slices, grid, grids]).nullable(),
  retention_us: z.array(whole.nullable()),
  tasks: whole,
});
export type GraphStore = z.infer<typeof graphStore>;

export const emit = z.object({
  outputs: z.array(z.tuple([z.string(), z.discriminatedUnion("kind", [column, literal, call])])),
  query: z.string(),
  residuals: z.array(z.discriminatedUnion("kind", [column, literal, call])),
  windows: z.array(windowBound),
});
export type Emit = z.infer<typeof emit>;

export const rank = z.object({
  descending: z.boolean(),
  expression: z.discriminatedUnion("kind", [column, literal, call]),
  nulls_first: z.boolean(),
});
export type Rank = z.infer<typeof rank>;

export const equality = z.object({
  probe: z.discriminatedUnion("kind", [column, literal, call]),
  stored: z.discriminatedUnion("kind", [column, literal, call]),
});
export type Equality = z.infer<typeof equality>;

export const sourceRule = z.object({
  emits: z.array(emit).default([]),
  filter: z.discriminatedUnion("kind", [column, literal, call]).nullable(),
  id: z.string(),
  input: z.string(),
  kind: z.literal("source"),
  out: z.array(z.string()),
  stream: z.string(),
});
export type SourceRule = z.infer<typeof sourceRule>;

export const settleRule = z.object({
  edge: z.string(),
  emits: z.array(emit),
  found: z.array(found),
  hold: z.string(),
  id: z.string(),
  inputs: z.array(z.string()),
  kind: z.literal("settle"),
  out: z.array(z.string()).default([]),
  start: z.string(),
});
export type SettleRule = z.infer<typeof settleRule>;

export const dueRule = z.object({
  columns: z.array(z.tuple([z.string(), column])),
  emits: z.array(emit).default([]),
  hold: z.string(),
  id: z.string(),
  inputs: z.array(z.tuple([z.string(), z.string()])),
  kind: z.literal("due"),
  out: z.array(z.string()),
  start: z.string(),
});
export type DueRule = z.infer<typeof dueRule>;

export const aggregateRule = z.object({
  direct: z.array(z.string()),
  edge: z.string(),
  emits: z.array(emit),
  hold: z.string(),
  id: z.string(),
  kind: z.literal("aggregate"),
  out: z.array(z.string()).default([]),
  start: z.string(),
});
export type AggregateRule = z.infer<typeof aggregateRule>;

export const groups = z.object({
  aggregates: z.array(groupAggregate),
  beside: z.array(z.string()).default([]),
  bucket: z.string(),
  by_oldest: z.boolean().default(false),
  counted_by: z.string().default(""),
  gap_us: whole.default(0),
  keys: whole,
  limit: whole.nullable().default(null),
  overlapping: whole,
  ranks: z.array(rank).default([]),
  running: z.boolean().default(false),
  size_us: whole,
  slide_us: whole,
  taken: z.array(z.tuple([z.string(), z.string()])),
  wait_us: whole,
});
export type Groups = z.infer<typeof groups>;

export const probeRule = z.object({
  bound: z.array(z.string()),
  edge: z.string(),
  emits: z.array(emit),
  equalities: z.array(equality),
  id: z.string(),
  kind: z.literal("probe"),
  newest: z.array(column).default([]),
  out: z.array(z.string()),
  predicates: z.array(z.discriminatedUnion("kind", [column, literal, call])),
  renames: z.array(z.tuple([z.string(), z.string()])),
  start: z.string(),
  store: z.string(),
  windows: z.array(windowBound),
});
export type ProbeRule = z.infer<typeof probeRule>;

export const hold = z.object({
  deadlines: z.array(z.array(windowBound)),
  direct: z.array(z.tuple([z.string(), z.string()])).default([]),
  edges: z.array(z.tuple([z.string(), z.string()])),
  groups: groups.nullable().default(null),
  label: z.string(),
  looks: z.array(look),
  name: z.string(),
  query: z.string(),
  store: z.string(),
  stream: graphStream,
  tier: whole.default(0),
  times: z.array(z.string()),
});
export type Hold = z.infer<typeof hold>;

export const physicalGraph = z.object({
  edges: z.array(edge),
  estimates: z.array(estimate).default([]),
  functions: z.array(graphFunction).default([]),
  holds: z.array(hold).default([]),
  method: z.string().default(""),
  queries: z.array(graphQuery),
  rules: z.array(z.discriminatedUnion("kind", [sourceRule, storeRule, probeRule, dueRule, settleRule, aggregateRule])),
  stores: z.array(graphStore),
  streams: z.array(graphStream),
  version: z.literal(1),
});
export type PhysicalGraph = z.infer<typeof physicalGraph>;

export type Expression = Column | Literal | Call;
export type Rule = PhysicalGraph["rules"][number];

/** Parse a document; throws `z.ZodError` naming the path of what does not fit. */
export const parseGraph = (document: unknown): PhysicalGraph => physicalGraph.parse(document);
