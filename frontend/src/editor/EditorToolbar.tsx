import type { JSX, RefObject } from "preact";
import type { QueryDocument } from "../api/documents";
import { Button } from "../ui/Button";
import { StatusBadge } from "../ui/StatusBadge";
import { QueryLight } from "./query/QueryLight";
import type { EditedText } from "./text/useEditedText";

interface Props {
  readonly query: QueryDocument | null;
  readonly text: EditedText;
  readonly nameBox: RefObject<HTMLInputElement | null>;
  /** Whether the account may save and deploy what stands here. */
  readonly maySave: boolean;
  readonly hasProblems: boolean;
  readonly busy: boolean;
  readonly historyShown: boolean;
  readonly onHistory: () => void;
  readonly onShare: () => void;
  readonly onFormat: () => void;
  readonly onPreview: () => void;
  readonly onSave: () => void;
  readonly onDeploy: () => void;
}

/** The query's name and state, and everything that can be done with the text. */
export function EditorToolbar(props: Props): JSX.Element {
  const { query, text, busy, maySave } = props;
  const isEmpty = text.sql.trim() === "";
  const isWrong = props.hasProblems || isEmpty;
  const isDeployed = query !== null && !text.changed && runsAlready(query);
  return (
    <div class="toolbar">
      {query === null && (
        <label class="inline">
          <span class="muted">Name</span>
          <input
            ref={props.nameBox}
            class="query-name"
            type="text"
            value={text.name}
            placeholder="late-rotations"
            maxLength={63}
            onInput={(event) => text.setName(event.currentTarget.value)}
          />
        </label>
      )}
      <label class="inline grow">
        <span class="muted">About</span>
        <input
          type="text"
          value={text.description}
          readOnly={query !== null && !query.can_edit}
          placeholder="What it finds, in one line"
          onInput={(event) => text.setDescription(event.currentTarget.value)}
        />
      </label>
      {query !== null && <QueryState query={query} changed={text.changed} />}
      <Button
        title="Texts that you previewed, saved or deployed"
        aria-expanded={props.historyShown}
        onClick={props.onHistory}
      >
        History
      </Button>
      <Button title="Copy a link to this text" disabled={isEmpty} onClick={props.onShare}>
        Share
      </Button>
      <Button title="Shift-Alt-F" disabled={busy} onClick={props.onFormat}>
        Format
      </Button>
      <Button
        title="Run it over recent tuples, without deploying it"
        disabled={isWrong}
        onClick={props.onPreview}
      >
        Preview
      </Button>
      <Button title="Ctrl-S" disabled={busy || !maySave || !text.changed} onClick={props.onSave}>
        Save
      </Button>
      <Button
        title={isDeployed ? `Version ${query.version} is deployed, and the text is the same` : "Ctrl-Enter"}
        kind={isDeployed ? undefined : "primary"}
        disabled={busy || !maySave || isWrong || isDeployed}
        onClick={props.onDeploy}
      >
        Deploy
      </Button>
    </div>
  );
}

/** Whether deploying the newest version would change nothing. */
function runsAlready(query: QueryDocument): boolean {
  return (
    query.deployed_version === query.version && (query.status === "running" || query.status === "deploying")
  );
}

function QueryState({ query, changed }: { query: QueryDocument; changed: boolean }): JSX.Element {
  return (
    <>
      <StatusBadge state={query.status} title={query.suspended} />
      {query.topology !== null && (
        <>
          <a href={`/topologies/${encodeURIComponent(query.topology)}/`}>{query.topology}</a>
          <QueryLight query={query} />
        </>
      )}
      <span class="muted">
        v{query.version}
        {changed ? " + changes" : ""}
      </span>
    </>
  );
}
