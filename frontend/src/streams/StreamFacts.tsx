import type { JSX } from "preact";
import type { StreamDocument } from "../api/documents";
import { count, rate, span } from "../format/quantities";
import { Fact } from "../ui/Fact";

interface Props {
  readonly stream: StreamDocument;
  /** Tuples per second of wall time; null if unknown. */
  readonly arriving: number | null;
}

/** What a stream is declared as, and how much comes. */
export function StreamFacts({ stream, arriving }: Props): JSX.Element {
  return (
    <dl class="numbers">
      <Fact label="declared" value={rate(stream.tuples_per_second)} />
      <Fact label="arriving" value={rate(arriving)} />
      <Fact label="entries" value={count(stream.entries)} />
      <Fact label="kind" value={stream.kind ?? "stream"} />
      <Fact label="late after" value={span(stream.kind === "table" ? null : stream.lateness_ms)} />
      <Fact
        label="ahead by at most"
        value={span(stream.max_ahead_ms)}
        title="A tuple whose event time is further ahead of its arrival goes to the dead letters."
      />
      <Fact label="late tuples" value={stream.late === "drop" ? "dead letters" : "joined, marked"} />
      <Fact label="tasks" value={stream.parallelism === null ? "auto" : count(stream.parallelism)} />
    </dl>
  );
}
