import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { StreamDocument } from "../api/documents";
import { answered, at, client, explainError, explainProblems } from "../api/request";
import { count, plural } from "../format/quantities";
import { Button } from "../ui/Button";
import { submits } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { type Part, partsOf } from "./sentRows";

const MOST_PROBLEMS = 5;
const MOST_BYTES = 10_000_000;

interface Props {
  readonly stream: StreamDocument;
  readonly onSent: () => void;
}

/** Sends tuples of a file, or some that somebody typed; a part of them at a time, each all or none. */
export function SendForm({ stream, onSent }: Props): JSX.Element {
  const [text, setText] = useState("");
  const [sent, setSent] = useState<{ readonly tuples: number; readonly of: number } | null>(null);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const read = (file: File | undefined): void => {
    setSent(null);
    setProblems([]);
    if (file !== undefined && file.size > MOST_BYTES) {
      setProblems([`${file.name} is larger than 10 MB: millrace send takes it in a terminal`]);
      return;
    }
    if (file === undefined) return;
    textOf(file).then(setText, (error: unknown) => setProblems([explainError(error)]));
  };
  const send = async (): Promise<void> => {
    setProblems([]);
    setSent(null);
    setBusy(true);
    let done = 0;
    try {
      const parts = partsOf(text, stream);
      const all = parts.reduce((sum, part) => sum + part.lines.length, 0);
      for (const part of parts) {
        await sendPart(stream.name, part);
        done += part.lines.length;
        setSent({ tuples: done, of: all });
      }
      setText("");
    } catch (error) {
      const found = explainProblems(error);
      const more = found.length - MOST_PROBLEMS;
      setProblems([
        ...found.slice(0, MOST_PROBLEMS),
        ...(more > 0 ? [`and ${plural(more, "other problem")}`] : []),
      ]);
      // What was sent is: it is not sent again with the rest.
      if (done > 0) setText((before) => withoutFirst(before, done, stream));
    } finally {
      setBusy(false);
      if (done > 0) onSent();
    }
  };
  return (
    <form class="form" aria-label={`Send tuples to ${stream.name}`} onSubmit={submits(() => void send())}>
      <label class="field">
        <span>Tuples: JSON, JSON lines, or CSV with a line of names; in the order of arrival</span>
        <textarea
          class="mono"
          rows={4}
          spellcheck={false}
          value={text}
          placeholder={`{"${stream.event_time}": "2026-01-01T10:00:00Z", …}`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="form-row">
        <label class="field">
          <span>Or a file of them</span>
          <input
            type="file"
            accept=".csv,.json,.jsonl,.ndjson,.parquet,.txt"
            onClick={(event) => {
              // Or a file that was mended and is chosen again would be no change.
              event.currentTarget.value = "";
            }}
            onChange={(event) => read(event.currentTarget.files?.[0])}
          />
        </label>
        <Button type="submit" kind="primary" disabled={busy || text.trim() === ""}>
          Send
        </Button>
      </div>
      {sent !== null && (
        <p class="notice" role="status">
          {sent.tuples === sent.of
            ? `${plural(sent.of, "tuple")} sent.`
            : `${count(sent.tuples)} of ${plural(sent.of, "tuple")} sent.`}
        </p>
      )}
      {problems.map((problem) => (
        <ProblemLine key={problem} text={problem} />
      ))}
    </form>
  );
}

/** What is in a file, of which only Parquet is no text. */
async function textOf(file: File): Promise<string> {
  if ((await file.slice(0, 4).text()) !== "PAR1") return file.text();
  const { parquetLines } = await import("./parquetLines");
  return parquetLines(file);
}

/** Those that are still to be sent, as JSON lines. */
function withoutFirst(text: string, tuples: number, stream: StreamDocument): string {
  return partsOf(text, stream)
    .flatMap(({ lines }) => lines)
    .slice(tuples)
    .join("\n");
}

/** All of them, or none; what is wrong names its place in the file. */
async function sendPart(stream: string, { lines }: Part): Promise<void> {
  await answered(
    client.POST("/api/streams/{name}/events/", {
      ...at({ name: stream }),
      // Written already, with all digits of its numbers.
      body: lines.join("\n") as never,
      bodySerializer: (body: unknown) => body as string,
      headers: { "Content-Type": "application/x-ndjson" },
    }),
  );
}
