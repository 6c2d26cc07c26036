/**
 * The physical graph as the optimizer writes it (`optimizer/physical/graph.py`, version 1).
 *
 * It reaches the page as a document inside API answers, so it is parsed here once; everything behind
 * this module works on the inferred types.
 */
import { z } from "zod";

const columnType = z.string();

interface Column {
  kind: "column";
  input: string;
  name: string;
  type: string;
}
interface Literal {
  kind: "literal";
  value: boolean | number | string | null;
  type: string;
}
interface Call {
  kind: "call";
  function: string;
  arguments: Expression[];
  type: string;
}
export type Expression = Column | Literal | Call;

const column = z.object({ kind: z.literal("column"), input: z.string(), name: z.string(), type: columnType });
const expression: z.ZodType<Expression> = z.lazy(() =>
  z.discriminatedUnion("kind", [
    column,
    z.object({
      kind: z.literal("literal"),
      value: z.union([z.boolean(), z.number(), z.string(), z.null()]),
      type: columnType,
    }),
    z.object({
      kind: z.literal("call"),
      function: z.string(),
      arguments: z.array(expression),
      type: columnType,
    }),
  ]),
);

const windowBound = z.object({ input: z.string(), window_us: z.number().nullable() });

const emit = z.object({
  query: z.string(),
  residuals: z.array(expression),
  windows: z.array(windowBound),
  outputs: z.array(z.tuple([z.string(), expression])),
});

const sourceRule = z.object({
  kind: z.literal("source"),
  id: z.string(),
  stream: z.string(),
  input: z.string(),
  filter: expression.nullable(),
  out: z.array(z.string()),
  emits: z.array(emit),
});

const storeRule = z.object({ kind: z.literal("store"), id: z.string(), edge: z.string(), store: z.string() });

const probeRule = z.object({
  kind: z.literal("probe"),
  id: z.string(),
  edge: z.string(),
  store: z.string(),
  start: z.string(),
  bound: z.array(z.string()),
  renames: z.array(z.tuple([z.string(), z.string()])),
  equalities: z.array(z.object({ probe: expression, stored: expression })),
  predicates: z.array(expression),
  windows: z.array(windowBound),
  out: z.array(z.string()),
  emits: z.array(emit),
});

const slices = z.object({ kind: z.literal("slices"), count: z.number(), smoothed: z.boolean() });

const grid = z.object({ kind: z.literal("grid"), groups: z.number() });

const grids = z.object({ kind: z.literal("grids"), rows: z.array(z.number()) });

const partitioning = z.discriminatedUnion("kind", [column, slices, grid, grids]);

const physicalGraph = z.object({
  version: z.literal(1),
  method: z.string(),
  streams: z.array(
    z.object({
      name: z.string(),
      event_time: z.string(),
      columns: z.array(z.tuple([z.string(), columnType])),
      lateness_us: z.number(),
      late: z.enum(["drop", "join"]),
    }),
  ),
  stores: z.array(
    z.object({
      id: z.string(),
      label: z.string(),
      inputs: z.array(z.object({ input: z.string(), stream: z.string(), columns: z.array(z.string()) })),
      partitioning: partitioning.nullable(),
      tasks: z.number(),
      retention_us: z.array(z.number().nullable()),
    }),
  ),
  edges: z.array(
    z.object({
      id: z.string(),
      origin: z.string(),
      target: z.string(),
      kind: z.enum(["shuffle", "group_by", "all", "slices", "grid"]),
      key: column.nullable(),
      level: z.number(),
      columns: z.array(column),
    }),
  ),
  rules: z.array(z.discriminatedUnion("kind", [sourceRule, storeRule, probeRule])),
  queries: z.array(
    z.object({
      name: z.string(),
      sql: z.string(),
      inputs: z.array(
        z.object({
          alias: z.string(),
          input: z.string(),
          stream: z.string(),
          window_us: z.number().nullable(),
        }),
      ),
      outputs: z.array(z.tuple([z.string(), columnType])),
      marks_late: z.boolean(),
    }),
  ),
  estimates: z.array(
    z.object({
      id: z.string(),
      tuples_per_second: z.number().nullable(),
      tuples: z.number().nullable(),
      cost: z.number().nullable(),
    }),
  ),
});

export type PhysicalGraph = z.infer<typeof physicalGraph>;
export type Store = PhysicalGraph["stores"][number];
export type Edge = PhysicalGraph["edges"][number];
export type Rule = PhysicalGraph["rules"][number];
export type ProbeRule = Extract<Rule, { kind: "probe" }>;
export type Emit = ProbeRule["emits"][number];

/** Parse a document; throws `z.ZodError` naming the path of what does not fit. */
export function parseGraph(document: unknown): PhysicalGraph {
  return physicalGraph.parse(document);
}
