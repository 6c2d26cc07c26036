/** How a drawing changes into another one. */
import { type BaseType, type Transition, transition } from "d3";
import { motionMs } from "./chart";

/**
 * What selections take to move with: `drawn.transition(motion())`. They have transitions only on pages where
 * somebody names d3's: an import of `select` alone leaves them out of what is built.
 */
export function motion(): Transition<BaseType, unknown, null, undefined> {
  return transition().duration(motionMs());
}
