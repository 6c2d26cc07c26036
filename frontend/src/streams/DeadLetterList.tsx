import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ChosenLetter, StreamDocument } from "../api/documents";
import { answered, at, client, explainProblems } from "../api/request";
import { count } from "../format/quantities";
import { Button } from "../ui/Button";
import { ConfirmDialog } from "../ui/dialog/ConfirmDialog";
import { type Notice, NoticeLine } from "../ui/Notice";
import { ProblemLine } from "../ui/ProblemLine";
import { ScrollArea } from "../ui/table/ScrollArea";
import { useLoaded } from "../ui/useLoaded";
import { keyOf, reasonsOf } from "./deadLetters";
import { LetterRow } from "./LetterRow";

const REFRESH_MS = 5000;
const LIMIT = 100;

interface Props {
  readonly stream: StreamDocument;
  /** True if letters may be sent again: a connector's stream takes no tuples from here. */
  readonly redrives: boolean;
}

/** Tuples that topologies turned away, why, and sending them again: as they are, or corrected. */
export function DeadLetterList({ stream, redrives }: Props): JSX.Element {
  const { value, problem, reload } = useLoaded(
    () =>
      answered(client.GET("/api/streams/{name}/dead-letters/", at({ name: stream.name }, { limit: LIMIT }))),
    REFRESH_MS,
    stream.name,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<"redrive" | "discard" | null>(null);
  const [correcting, setCorrecting] = useState<string | null>(null);
  const [notice, setNotice] = useState<Notice | null>(null);
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
      setNotice({ text: explainProblems(error).join(" "), bad: true });
      return false;
    } finally {
      reload();
    }
  };
  const redrive = (those: readonly ChosenLetter[]): Promise<boolean> =>
    attempt(async () => {
      const { count: sent } = await answered(
        client.POST("/api/streams/{name}/dead-letters/redrive/", {
          ...at({ name: stream.name }),
          body: { letters: [...those] },
        }),
      );
      return sent === 1 ? "One tuple was sent again." : `${sent} tuples were sent again.`;
    });
  const discard = (): Promise<boolean> =>
    attempt(async () => {
      const call = { ...at({ name: stream.name }), body: { letters: points } };
      const { count: gone } = await answered(client.POST("/api/streams/{name}/dead-letters/discard/", call));
      return `${gone} discarded.`;
    });
  return (
    <section aria-label="Dead letters">
      <div class="toolbar">
        <h2>Dead letters</h2>
        {value !== null && <span class="muted">{keptText(value.kept, letters.length)}</span>}
        <span class="grow" />
        {stream.can_edit && letters.length > 0 && (
          <>
            {redrives && (
              <Ask text="Re-drive" letters={turnedAway.length} onClick={() => setAsking("redrive")} />
            )}
            <Ask text="Discard" danger letters={picked.length} onClick={() => setAsking("discard")} />
          </>
        )}
      </div>
      <ProblemLine text={problem} />
      <NoticeLine notice={notice} />
      {value !== null && letters.length === 0 && (
        <p class="empty">
          No dead letters. A tuple that is too late, too far ahead of its arrival, unreadable, or makes a
          batch fail appears here with the reason, and so does one for which an expression fails.
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
                  <th scope="col">Rejected by</th>
                  <th scope="col">Tuple</th>
                  {redrives && <th scope="col">Correct</th>}
                </tr>
              </thead>
              <tbody>
                {letters.map((letter) => (
                  <LetterRow
                    key={keyOf(letter)}
                    letter={letter}
                    editable={stream.can_edit}
                    redrives={redrives}
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
        <LetterDialog
          asking={asking}
          stream={stream.name}
          letters={points.length}
          onClose={() => setAsking(null)}
          onConfirm={() => {
            setAsking(null);
            if (asking === "redrive") void redrive(points);
            else void discard();
          }}
        />
      )}
    </section>
  );
}

function keptText(kept: number, shown: number): string {
  if (kept === 0) return "none";
  return kept > shown ? `${count(kept)} kept, the newest ${shown} shown` : `${count(kept)} kept`;
}

interface AskProps {
  readonly text: string;
  readonly letters: number;
  readonly danger?: boolean;
  readonly onClick: () => void;
}

function Ask({ text, letters, danger, onClick }: AskProps): JSX.Element {
  return (
    <Button kind={danger === true ? "danger" : undefined} disabled={letters === 0} onClick={onClick}>
      {text} {letters > 0 ? letters : ""}…
    </Button>
  );
}

interface DialogProps {
  readonly asking: "redrive" | "discard";
  readonly stream: string;
  readonly letters: number;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

function LetterDialog({ asking, stream, letters, onClose, onConfirm }: DialogProps): JSX.Element {
  if (asking === "discard")
    return (
      <ConfirmDialog
        title={`Discard ${letters} for good?`}
        confirm="Discard"
        onClose={onClose}
        onConfirm={onConfirm}
      >
        <p>The letters and their tuples are deleted. The audit trail records it.</p>
      </ConfirmDialog>
    );
  return (
    <ConfirmDialog
      title={`Send ${letters} to ${stream} again?`}
      confirm="Re-drive"
      onClose={onClose}
      onConfirm={onConfirm}
    >
      <p>
        Every topology that reads {stream} gets them, including one that had accepted them. A late tuple is
        late again unless the allowed lateness grew or late tuples are joined. A tuple ahead of its arrival is
        refused until that time comes near, its event time is corrected, or the stream allows more.
      </p>
    </ConfirmDialog>
  );
}
