import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { explainError } from "../../api/request";
import { percent, plural, span } from "../../format/quantities";
import { Button } from "../../ui/Button";
import { ProblemLine } from "../../ui/ProblemLine";
import { DEFAULT_LATENESS, type StreamFields } from "../streamFields";
import { readSample, type SampleRows } from "./sampleRows";
import { behindOf, columnsOfSample, droppedBy, latenessFor } from "./sampleTypes";

interface Props {
  readonly fields: StreamFields;
  readonly set: (changes: Partial<StreamFields>) => void;
}

/** Fills the form of a new stream in from tuples that somebody pastes. */
export function SampleField({ fields, set }: Props): JSX.Element {
  const [text, setText] = useState("");
  const [sample, setSample] = useState<SampleRows | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const read = (next: string): void => {
    setText(next);
    try {
      const found = next.trim() === "" ? null : readSample(next);
      setSample(found);
      setProblem(null);
      if (found !== null) set(fieldsOfSample(found));
    } catch (error) {
      setSample(null);
      setProblem(explainError(error));
    }
  };
  return (
    <fieldset>
      <legend>Begin with a sample (not sent)</legend>
      <label class="field">
        <span>Sample tuples: JSON, JSON lines, or CSV with a line of names; in the order of arrival</span>
        <textarea
          class="mono"
          rows={4}
          spellcheck={false}
          value={text}
          placeholder={'{"at": "2026-01-01T10:00:00Z", "gate": "A1", "delay": 10.0}'}
          onInput={(event) => read(event.currentTarget.value)}
        />
      </label>
      <ProblemLine text={problem} />
      {sample !== null && <LatenessLine sample={sample} fields={fields} set={set} />}
    </fieldset>
  );
}

/** What the sample says of columns, event time and lateness. */
function fieldsOfSample(sample: SampleRows): Partial<StreamFields> {
  const columns = columnsOfSample(sample);
  const times = columns.filter(({ type }) => type === "timestamp");
  const eventTime = times.length === 1 ? (times[0]?.name ?? "") : "";
  const lateness = latenessFor(behindOf(sample, eventTime), DEFAULT_LATENESS);
  return { columns, eventTime, lateness: String(lateness) };
}

/** What the chosen lateness would drop of the sample, and which one would drop nothing. */
function LatenessLine({ sample, fields, set }: Props & { readonly sample: SampleRows }): JSX.Element {
  const { eventTime, kind, lateness, late } = fields;
  const behind = useMemo(() => behindOf(sample, eventTime), [sample, eventTime]);
  const tuples = plural(behind.length, "sampled tuple");
  if (behind.length === 0)
    return <p class="muted">{plural(sample.rows.length, "tuple")} read. Choose the event time below.</p>;
  const chosen = Number(lateness);
  if (kind === "table" || !Number.isFinite(chosen)) return <p class="muted">{tuples} read.</p>;
  const dropped = droppedBy(behind, chosen);
  const length = span(chosen * 1000);
  if (dropped === 0)
    return (
      <p class="muted" role="status">
        With a lateness of {length} none of the {tuples} is late.
      </p>
    );
  const enough = latenessFor(behind, DEFAULT_LATENESS);
  return (
    <p class="problem-line" role="status">
      A lateness of {length} {late === "drop" ? "drops" : "marks"} {dropped} of {tuples} (
      {percent(dropped / behind.length)}) as late.{" "}
      <Button small onClick={() => set({ lateness: String(enough) })}>
        Use {span(enough * 1000)}: none is late
      </Button>
    </p>
  );
}
