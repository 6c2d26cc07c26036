import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DeadLetter } from "../api/documents";
import { instant } from "../format/quantities";
import { Button } from "../ui/Button";
import { ProblemLine } from "../ui/ProblemLine";
import { parseTuple } from "./deadLetters";

interface Props {
  readonly letter: DeadLetter;
  readonly editable: boolean;
  readonly redrives: boolean;
  readonly chosen: boolean;
  readonly onChosen: (wanted: boolean) => void;
  readonly correcting: boolean;
  readonly onCorrect: (open: boolean) => void;
  readonly onSend: (tuple: Record<string, unknown>) => Promise<void>;
}

/** One dead letter, which may be corrected in place. */
export function LetterRow({
  letter,
  editable,
  redrives,
  chosen,
  onChosen,
  correcting,
  onCorrect,
  onSend,
}: Props): JSX.Element {
  const [text, setText] = useState(letter.tuple);
  const [problem, setProblem] = useState<string | null>(null);
  const send = (): void => {
    const parsed = parseTuple(text);
    if (typeof parsed === "string") setProblem(parsed);
    else void onSend(parsed);
  };
  return (
    <tr>
      {editable && (
        <td>
          <input
            type="checkbox"
            aria-label={`Choose the letter ${letter.id} of ${letter.topology}`}
            checked={chosen}
            onChange={(event) => onChosen(event.currentTarget.checked)}
          />
        </td>
      )}
      <td>
        {letter.reason}
        {letter.expression !== null && (
          <div class="small">
            failed to evaluate <code>{letter.expression}</code>; it counts as NULL, and the tuple itself was
            accepted
          </div>
        )}
        {letter.query !== null && <div class="muted small">query {letter.query}</div>}
      </td>
      <td>{instant(letter.event_time)}</td>
      <td>
        <a href={`/topologies/${encodeURIComponent(letter.topology)}/`}>{letter.topology}</a>{" "}
        <span class="muted">batch {letter.batch}</span>
      </td>
      <td class="letter-tuple">
        {correcting ? (
          <>
            <textarea
              class="mono"
              rows={4}
              aria-label="The corrected tuple"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <ProblemLine text={problem} />
          </>
        ) : (
          <code>
            {letter.tuple}
            {letter.cut ? "…" : ""}
          </code>
        )}
      </td>
      {redrives && (
        <td>
          {correcting && (
            <Button small onClick={send}>
              Send it
            </Button>
          )}{" "}
          {letter.expression === null && (
            <button
              type="button"
              class="link"
              aria-expanded={correcting}
              onClick={() => onCorrect(!correcting)}
            >
              {correcting ? "leave" : "correct"}
            </button>
          )}
        </td>
      )}
    </tr>
  );
}
