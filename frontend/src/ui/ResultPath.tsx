import type { JSX } from "preact";
import type { Provenance } from "../api/documents";
import { answered, at, client } from "../api/request";
import { count, instant, UNKNOWN } from "../format/quantities";
import { Button } from "./Button";
import { ProblemLine } from "./ProblemLine";
import { useLoaded } from "./useLoaded";

interface Props {
  readonly query: number;
  /** The result's id in the tail. */
  readonly result: string;
  readonly onClose: () => void;
}

/** Where a result came from: the tuple that came last, and the stores that it probed on its way. */
export function ResultPath({ query, result, onClose }: Props): JSX.Element {
  const { value, problem } = useLoaded(
    () => answered(client.GET("/api/queries/{id}/results/provenance/", at({ id: query }, { id: result }))),
    null,
    `${query} ${result}`,
  );
  return (
    <section class="result-path" aria-label="How the result came about">
      <div class="toolbar">
        <h3>How it came about</h3>
        <span class="grow" />
        <Button small onClick={onClose}>
          Close
        </Button>
      </div>
      <ProblemLine text={problem} />
      {value === null ? problem === null && <p class="muted">Loading…</p> : <Path path={value} />}
    </section>
  );
}

function Path({ path }: { path: Provenance }): JSX.Element {
  const plan = `/topologies/${encodeURIComponent(path.topology)}/?plan=${encodeURIComponent(path.plan_id)}`;
  const node = (rule: string): string => `${plan}#${encodeURIComponent(rule)}`;
  return (
    <>
      <ol class="path">
        <li>
          <strong>{path.start.alias}</strong> came last, from{" "}
          <a href={`/streams/${encodeURIComponent(path.start.stream)}/`}>{path.start.stream}</a>
          <span class="muted">
            {" "}
            at {moment(path.start.event_time)} · batch {count(path.batch)} · arrival {path.arrival}
          </span>
          {path.start_filter !== null && <code class="condition">{path.start_filter}</code>}
        </li>
        {path.steps.map((step) => (
          <li key={step.rule}>
            probed{" "}
            <a href={node(step.rule)}>
              <strong>{step.label}</strong>
            </a>{" "}
            <span class="muted">
              at level {step.level} ({step.kind.replace("_", " ")})
            </span>
            , found{" "}
            {step.found.map((one, i) => (
              <span key={one.alias}>
                {i > 0 ? ", " : ""}
                <strong>{one.alias}</strong> <span class="muted">at {moment(one.event_time)}</span>
              </span>
            ))}
            {step.conditions.map((text) => (
              <code key={text} class="condition">
                {text}
              </code>
            ))}
          </li>
        ))}
        {path.residuals.length > 0 && (
          <li>
            passed the remaining conditions of the query
            {path.residuals.map((text) => (
              <code key={text} class="condition">
                {text}
              </code>
            ))}
          </li>
        )}
      </ol>
      <p class="muted small">
        Plan {path.plan_id}. Every tuple that was found had arrived before the one that came last.
      </p>
    </>
  );
}

function moment(iso: string | null): string {
  return iso === null ? `${UNKNOWN} (its time was not needed)` : `${instant(iso)} UTC`;
}
