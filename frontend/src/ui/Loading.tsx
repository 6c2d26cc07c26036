import type { JSX } from "preact";
import { ProblemLine } from "./ProblemLine";

/** In place of what has not been answered yet, or why it will not be. */
export function Loading({ problem }: { readonly problem: string | null }): JSX.Element {
  return problem === null ? <p class="muted">Loading…</p> : <ProblemLine text={problem} />;
}
