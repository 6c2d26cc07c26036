import type { JSX, RefObject } from "preact";
import type { QueryDocument } from "../api/documents";
import { FavouriteButton } from "../catalog/FavouriteButton";
import { Button } from "../ui/Button";
import { StatusBadge } from "../ui/StatusBadge";
import { QueryLight } from "./query/QueryLight";
import { TagList } from "./query/TagList";
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
  return (
    <div class="toolbar">
      <label class="inline">
        <span class="muted">Name</span>
        <input
          ref={props.nameBox}
          class="query-name"
          type="text"
          value={text.name}
          readOnly={query !== null}
          placeholder="late-rotations"
          maxLength={63}
          onInput={(event) => text.setName(event.currentTarget.value)}
        />
      </label>
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
        title="Ctrl-Enter"
        kind="primary"
        disabled={busy || !maySave || isWrong}
        onClick={props.onDeploy}
      >
        Deploy
      </Button>
    </div>
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

/** What people attach to a saved query: a star, tags. */
export function QueryMarks({
  query,
  onQuery,
  onTags,
}: {
  readonly query: QueryDocument;
  readonly onQuery: (query: QueryDocument) => void;
  readonly onTags: (tags: string[]) => void;
}): JSX.Element {
  return (
    <div class="toolbar">
      <FavouriteButton query={query} onChanged={() => onQuery({ ...query, favourite: !query.favourite })} />
      <TagList tags={query.tags} editable={query.can_edit} onTags={onTags} />
    </div>
  );
}
