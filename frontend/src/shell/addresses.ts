/** The address of a topology's page. */
export function topologyPage(name: string): string {
  return `/topologies/${encodeURIComponent(name)}/`;
}
