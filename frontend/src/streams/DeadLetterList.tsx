import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DeadLetter, StreamDocument } from "../api/documents";
import { type ChosenLetter, deadLetters, discardLetters, redriveLetters } from "../api/endpoints";
import { explainError, Refusal } from "../api/request";
import { count, instant } from "../format/quantities";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { useLoaded } from "../ui/useLoaded";
import { keyOf, parseTuple, reasonsOf } from "./deadLetters";

const REFRESH_MS = 5000;
const LIMIT = 100;

/** Tuples that topologies turned away, why, and sending them again: as they are, or corrected. */
export function DeadLetterList({ stream }: { stream: StreamDocument }): JSX.Element {
  const { value, problem, reload } = useLoaded(
    () => deadLetters(stream.name, LIMIT),
    REFRESH_MS,
    stream.name,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<"redrive" | "discard" | null>(null);
  const [correcting, setCorrecting] = useState<string | null>(null);
  const [notice, setNotice] = useState<{ text: string; bad: boolean } | null>(null);
  const letters = value?.letters ?? [];
  const picked = letters.filter((letter) => chosen.has(keyOf(letter)));
  // What only an expression has no value for was accepted: sent again, it would be there twice.
  const turnedAway = picked.filter((letter) => letter.expression === null);
  const points = (asking === "redrive" ? turnedAway : picked).map(({ topology, id }) => ({ topology, id }));
  const attempt = async (work: () => Promise<string>): Promise<boolean> => {
    try {
      setNotice({ text: await work(), bad: false });
      setChosen(new Set());
      return true;
    } catch (error) {
      const told =
        error instanceof Refusal && error.problems.length > 0
          ? error.problems.map((one) => one.message).join(" ")
          : explainError(error);
      setNotice({ text: told, bad: true });
      return false;
    } finally {
      reload();
    }
  };
  const redrive = (those: readonly ChosenLetter[]): Promise<boolean> =>
    attempt(async () => {
      const { count: sent } = await redriveLetters(stream.name, those);
      return sent === 1 ? "One tuple was sent again." : `${sent} tuples were sent again.`;
    });
  return (
    <section aria-label="Dead letters">
      <div class="toolbar">
        <h2>Dead letters</h2>
        {value !== null && (
          <span class="muted">
            {value.kept === 0
              ? "none"
              : `${count(value.kept)} kept${value.kept > letters.length ? `, the newest ${letters.length} shown` : ""}`}
          </span>
        )}
        <span class="grow" />
        {stream.can_edit && letters.length > 0 && (
          <>
            <button
              type="button"
              class="button"
              disabled={turnedAway.length === 0}
              onClick={() => setAsking("redrive")}
            >
              Re-drive {turnedAway.length > 0 ? turnedAway.length : ""}…
            </button>
            <button
              type="button"
              class="button danger"
              disabled={picked.length === 0}
              onClick={() => setAsking("discard")}
            >
              Discard {picked.length > 0 ? picked.length : ""}…
            </button>
          </>
        )}
      </div>
      {problem !== null && <p class="problem-line">{problem}</p>}
      {notice !== null && (
        <p class={notice.bad ? "problem-line" : "notice"} role={notice.bad ? "alert" : "status"}>
          {notice.text}
        </p>
      )}
      {value !== null && letters.length === 0 && (
        <p class="empty">
          No tuple was turned away, or none is kept any more. A tuple that is too late, too far ahead of its
          arrival, cannot be read or makes a batch fail appears here with the reason, and so does one for
          which an expression has no value.
        </p>
      )}
      {letters.length > 0 && (
        <>
          <p class="chips">
            {reasonsOf(letters).map(([reason, number]) => (
              <span key={reason} class="chip">
                {reason} <span class="muted">{count(number)}</span>
              </span>
            ))}
          </p>
          <ScrollArea label="Dead letters, newest first">
            <table class="list stack letters">
              <thead>
                <tr>
                  {stream.can_edit && (
                    <th scope="col">
                      <input
                        type="checkbox"
                        aria-label="Choose all letters"
                        checked={picked.length === letters.length}
                        onChange={(event) =>
                          setChosen(event.currentTarget.checked ? new Set(letters.map(keyOf)) : new Set())
                        }
                      />
                    </th>
                  )}
                  <th scope="col">Reason</th>
                  <th scope="col">Event time (UTC)</th>
                  <th scope="col">Turned away by</th>
                  <th scope="col">Tuple</th>
                  {stream.can_edit && <th scope="col">Correct</th>}
                </tr>
              </thead>
              <tbody>
                {letters.map((letter) => (
                  <LetterRow
                    key={keyOf(letter)}
                    letter={letter}
                    editable={stream.can_edit}
                    chosen={chosen.has(keyOf(letter))}
                    onChosen={(wanted) =>
                      setChosen(
                        (before) =>
                          new Set(
                            wanted
                              ? [...before, keyOf(letter)]
                              : [...before].filter((key) => key !== keyOf(letter)),
                          ),
                      )
                    }
                    correcting={correcting === keyOf(letter)}
                    onCorrect={(open) => setCorrecting(open ? keyOf(letter) : null)}
                    onSend={async (tuple) => {
                      if (await redrive([{ topology: letter.topology, id: letter.id, tuple }]))
                        setCorrecting(null);
                    }}
                  />
                ))}
              </tbody>
            </table>
          </ScrollArea>
        </>
      )}
      {asking !== null && (
        <ConfirmDialog
          title={
            asking === "redrive"
              ? `Send ${turnedAway.length} to ${stream.name} again?`
              : `Discard ${picked.length} for good?`
          }
          confirm={asking === "redrive" ? "Re-drive" : "Discard"}
          onClose={() => setAsking(null)}
          onConfirm={() => {
            const doing = asking;
            setAsking(null);
            if (doing === "redrive") void redrive(points);
            else void attempt(async () => `${(await discardLetters(stream.name, points)).count} discarded.`);
          }}
        >
          {asking === "redrive" ? (
            <p>
              Every topology that reads {stream.name} gets them, also one that had accepted them. What was
              late is late again unless the allowed lateness grew or late tuples are joined; what was ahead of
              its arrival is refused until that moment comes near, its event time is corrected, or the stream
              allows more.
            </p>
          ) : (
            <p>They leave the dead letters; their tuples are gone. The audit trail notes it.</p>
          )}
        </ConfirmDialog>
      )}
    </section>
  );
}

interface RowProps {
  readonly letter: DeadLetter;
  readonly editable: boolean;
  readonly chosen: boolean;
  readonly onChosen: (wanted: boolean) => void;
  readonly correcting: boolean;
  readonly onCorrect: (open: boolean) => void;
  readonly onSend: (tuple: Record<string, unknown>) => Promise<void>;
}

function LetterRow({
  letter,
  editable,
  chosen,
  onChosen,
  correcting,
  onCorrect,
  onSend,
}: RowProps): JSX.Element {
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
            no value for <code>{letter.expression}</code>: NULL; the tuple itself was accepted
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
      {editable && (
        <td>
          {correcting && (
            <button type="button" class="button small" onClick={send}>
              Send it
            </button>
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
