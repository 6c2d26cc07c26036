import type { JSX } from "preact";
import type { QueryDocument } from "../../api/documents";
import { CorrectnessLight } from "../../ui/CorrectnessLight";
import { lightOf } from "../../ui/correctness";
import { useNow } from "../../ui/useNow";

/** A component of its own: the clock renders only this anew, not the editor. */
export function QueryLight({ query }: { query: QueryDocument }): JSX.Element {
  return <CorrectnessLight light={lightOf(query.correctness, useNow())} />;
}
