/** What the server hands to an island in `data-props`; every island reads the part that it needs. */
import { z } from "zod";

const islandProps = z.object({
  queryId: z.number().int().nullable().default(null),
  topology: z.string().nullable().default(null),
  stream: z.string().nullable().default(null),
  /** Functions of the administrator that queries may call. */
  functions: z.array(z.object({ sql: z.string(), signature: z.string() })).default([]),
  me: z
    .object({
      username: z.string(),
      is_operator: z.boolean(),
      role: z.enum(["viewer", "author", "operator", "admin"]).default("author"),
    })
    .default({ username: "", is_operator: false, role: "author" }),
});

export type IslandProps = z.infer<typeof islandProps>;

export function parseIslandProps(text: string): IslandProps {
  return islandProps.parse(JSON.parse(text));
}
