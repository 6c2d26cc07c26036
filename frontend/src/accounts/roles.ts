/** What an account may do, from the least to the most. */
export const ROLES = [
  ["viewer", "viewer: reads"],
  ["author", "author: writes and deploys"],
  ["operator", "operator: runs topologies"],
  ["admin", "admin: manages accounts"],
] as const;
