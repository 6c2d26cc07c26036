import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { QueryDocument, StreamDocument } from "../api/documents";
import { answered, at, client, explainError, Refusal } from "../api/request";
import type { StreamColour } from "../colour/streams";
import type { Notice } from "../ui/Notice";
import { EditorNotices } from "./EditorNotices";
import { EditorToolbar } from "./EditorToolbar";
import { PlanPane } from "./plan/PlanPane";
import { PreviewPane } from "./plan/PreviewPane";
import { useValidation } from "./plan/useValidation";
import { QueryDrawer } from "./query/QueryDrawer";
import { saveText } from "./query/saveText";
import { useDeployment } from "./query/useDeployment";
import { SavedBar } from "./saved/SavedBar";
import type { SchemaRelation } from "./sql/completion";
import type { SqlFunction } from "./sql/functions";
import { ParameterBar } from "./sql/ParameterBar";
import { ProblemList } from "./sql/ProblemList";
import { SchemaPane } from "./sql/SchemaPane";
import { useSqlEditor } from "./sql/useSqlEditor";
import { shareLink } from "./text/share";
import { TextHistory } from "./text/TextHistory";
import { keepUndo, readUndo } from "./text/undoHistory";
import { useEditedText } from "./text/useEditedText";
import { useTextHistory } from "./text/useTextHistory";

interface Props {
  readonly query: QueryDocument | null;
  readonly onQuery: (query: QueryDocument) => void;
  readonly streams: readonly StreamDocument[] | null;
  readonly streamsProblem: string | null;
  readonly queries: readonly QueryDocument[];
  readonly functions: readonly SqlFunction[];
  readonly colour: StreamColour;
  /** May read and try out, and keep nothing. */
  readonly viewer: boolean;
}

function relations(
  streams: readonly StreamDocument[],
  queries: readonly QueryDocument[],
  own: string | null,
): SchemaRelation[] {
  return [
    ...streams.map(
      (stream): SchemaRelation => ({ name: stream.name, kind: "stream", columns: stream.columns }),
    ),
    ...queries
      .filter((query) => query.name !== own)
      .map((query): SchemaRelation => ({ name: query.name, kind: "query", columns: query.outputs })),
  ];
}

/** Streams and columns, the SQL, and the plan; everything else follows from the text. */
export function Editor(props: Props): JSX.Element {
  const { query, onQuery } = props;
  const text = useEditedText(query);
  const history = useTextHistory();
  const { deployment, deploy } = useDeployment();
  const [notice, setNotice] = useState<Notice | null>(null);
  const [busy, setBusy] = useState(false);
  const [link, setLink] = useState<string | null>(null);
  /** A new object for every press, so that the same text is tried again. */
  const [previewed, setPreviewed] = useState<{ readonly sql: string } | null>(null);
  const nameBox = useRef<HTMLInputElement>(null);
  const name = text.name.trim();
  const checked = useValidation(text.sql, name === "" ? null : name);
  const maySave = !props.viewer && (query === null || query.can_edit);
  const schema = useMemo(
    () => relations(props.streams ?? [], props.queries, query?.name ?? null),
    [props.streams, props.queries, query?.name],
  );
  const { host, editor } = useSqlEditor({
    doc: text.sql,
    past: () => (text.isShared ? null : readUndo(query?.id ?? null, text.sql)),
    takesFocus: query === null,
    schema,
    functions: props.functions,
    onChange: text.setSql,
    onSave: () => void attempt(async () => void (await save())),
    onDeploy: () => void attempt(saveAndDeploy),
    onFormat: () => void attempt(format),
    onLeave: (sql, past) => {
      text.keep(sql);
      keepUndo(query?.id ?? null, sql, past);
    },
  });
  const newestSql = (): string => editor.current?.text() ?? text.sql;
  useEffect(() => editor.current?.show(checked.problems), [checked.problems]);

  /** One thing at a time; what goes wrong is told. */
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setNotice(null);
    try {
      await work();
    } catch (error) {
      if (error instanceof Refusal && error.problems.length > 0) editor.current?.show(error.problems);
      setNotice({ text: explainError(error), bad: true });
    } finally {
      setBusy(false);
    }
  };
  /** The saved query, or null when something must be filled in first. */
  const save = async (): Promise<QueryDocument | null> => {
    const sql = newestSql();
    if (name === "") {
      setNotice({ text: "Give the query a name first.", bad: true });
      nameBox.current?.focus();
      return null;
    }
    const saved = await saveText(query, text, sql);
    history.add("saved", saved.name, sql);
    onQuery(saved);
    setNotice({ text: `Saved as version ${saved.version}.`, bad: false });
    return saved;
  };
  const saveAndDeploy = async (): Promise<void> => {
    const saved = text.changed ? await save() : query;
    if (saved === null) return;
    history.add("deployed", saved.name, saved.sql);
    await deploy(saved);
  };
  const format = async (): Promise<void> => {
    const before = newestSql();
    const formatted = (await answered(client.POST("/api/sql/format/", { body: { sql: before } }))).sql;
    if (formatted !== before && editor.current?.text() === before) editor.current.replaceAll(formatted);
  };
  /** A saved query without changes has an address already; any other text travels in the link. */
  const share = async (): Promise<void> => {
    const { origin } = window.location;
    const path = query === null ? "/queries/new/" : `/queries/${query.id}/`;
    const address = text.changed
      ? shareLink(origin, path, { sql: newestSql(), name: text.name, description: text.description })
      : `${origin}${path}`;
    setLink(address);
    // Only a page that came over HTTPS, or from this machine, may write to the clipboard.
    if (window.isSecureContext) await navigator.clipboard.writeText(address);
    setNotice({
      text: window.isSecureContext ? "The link is on your clipboard." : "Copy the link below.",
      bad: false,
    });
  };
  const preview = (): void => {
    const sql = newestSql();
    history.add("previewed", name, sql);
    setPreviewed({ sql });
  };
  return (
    <section class="editor">
      <EditorToolbar
        query={query}
        text={text}
        nameBox={nameBox}
        maySave={maySave}
        hasProblems={checked.problems.length > 0}
        busy={busy}
        historyShown={history.entries !== null}
        onHistory={history.toggle}
        onShare={() => void attempt(share)}
        onFormat={() => void attempt(format)}
        onPreview={preview}
        onSave={() => void attempt(async () => void (await save()))}
        onDeploy={() => void attempt(saveAndDeploy)}
      />
      {query !== null && (
        <SavedBar
          query={query}
          onQuery={onQuery}
          onTags={(tags) =>
            void attempt(async () =>
              onQuery(
                await answered(
                  client.PATCH("/api/queries/{id}/", { ...at({ id: query.id }), body: { tags } }),
                ),
              ),
            )
          }
        />
      )}
      <EditorNotices
        query={query}
        viewer={props.viewer}
        overtaken={text.overtaken}
        onTakeSaved={(sql) => editor.current?.replaceAll(sql)}
        notice={notice}
        link={link}
        onCloseLink={() => setLink(null)}
        deployment={deployment}
      />
      <div class={`editor-panes ${query !== null || previewed !== null ? "with-results" : ""}`}>
        <SchemaPane
          streams={props.streams}
          queries={props.queries.filter((other) => other.id !== query?.id)}
          problem={props.streamsProblem}
          colour={props.colour}
          onInsert={(part) => editor.current?.insert(part)}
        />
        <div class="pane sql">
          <ParameterBar
            sql={text.sql}
            readOnly={query !== null && !query.can_edit}
            onReplace={(from, to, part) => editor.current?.replace(from, to, part)}
          />
          <div ref={host} class="sql-host" />
          <ProblemList
            problems={checked.problems}
            empty={text.sql.trim() === ""}
            validation={checked.validation}
            pending={checked.pending}
            onGo={(problem) => editor.current?.goTo(problem)}
            onFix={(problem) => editor.current?.fix(problem)}
          />
        </div>
        <PlanPane
          explanation={checked.explanation}
          outlook={checked.outlook}
          reason={checked.reason}
          stale={checked.pending || checked.problems.length > 0}
          colour={props.colour}
        />
      </div>
      {history.entries !== null && (
        <TextHistory
          entries={history.entries}
          current={text.sql}
          onTake={(sql) => editor.current?.replaceAll(sql)}
          onClose={history.toggle}
        />
      )}
      {previewed !== null && (
        <PreviewPane
          key={previewed.sql}
          asked={previewed}
          name={name === "" ? null : name}
          changed={previewed.sql !== text.sql}
          onClose={() => setPreviewed(null)}
        />
      )}
      {query !== null && (
        <QueryDrawer
          query={query}
          onQuery={onQuery}
          onReverted={(saved) => {
            onQuery(saved);
            editor.current?.replaceAll(saved.sql);
            setNotice({
              text: `Version ${saved.version} has the older text. Deploy it to run it.`,
              bad: false,
            });
          }}
        />
      )}
    </section>
  );
}
