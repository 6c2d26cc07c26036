import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { answered, at, client } from "../api/request";
import { SearchField } from "../ui/fields";
import { ProblemLine } from "../ui/ProblemLine";
import { useLoaded } from "../ui/useLoaded";

const REFRESH_MS = 2500;
const TAIL = 200;

/**
 * The end of what a run's driver, Java and Python workers printed, or of the lines with a text.
 *
 * It follows new lines while it is scrolled to the end.
 */
export function RunLogTail({ id }: { id: string }): JSX.Element {
  const [wanted, setWanted] = useState("");
  const log = useLoaded(
    () => answered(client.GET("/api/runs/{id}/log/", at({ id }, { tail: TAIL, search: wanted.trim() }))),
    REFRESH_MS,
    `${id} ${wanted.trim()}`,
  );
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const lines = log.value?.lines ?? [];
  useEffect(() => {
    if (box.current !== null && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.value, wanted]);
  return (
    <div class="log">
      <div class="toolbar">
        <SearchField label="Search the log" value={wanted} onValue={setWanted} />
        <span class="muted">
          {log.value?.truncated === true
            ? `the last ${TAIL} ${wanted.trim() === "" ? "lines" : "lines with it"}`
            : ""}
        </span>
      </div>
      <ProblemLine text={log.problem} />
      {/* biome-ignore lint/a11y/useSemanticElements: its line breaks are the log's, so it is a <pre> */}
      <pre
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: axe's scrollable-region-focusable
        tabIndex={0}
        role="region"
        aria-label="Log"
        onScroll={(event) => {
          const pre = event.currentTarget;
          atEnd.current = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
        }}
      >
        {log.value !== null && lines.length === 0
          ? wanted === ""
            ? "The log is empty."
            : "No matching lines."
          : lines.join("\n")}
      </pre>
    </div>
  );
}
