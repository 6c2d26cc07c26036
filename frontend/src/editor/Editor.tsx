import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryDocument, StreamDocument } from "../api/documents";
import { createQuery, deployQuery, describeQuery, formatSql, saveVersion } from "../api/endpoints";
import { explainError, Refusal } from "../api/request";
import type { StreamColour } from "../colour/streams";
import { FavouriteButton } from "../catalog/FavouriteButton";
import { StatusBadge } from "../ui/StatusBadge";
import type { SchemaRelation } from "./completion";
import { watchDeployment, type Deployment } from "./deployment";
import { DeploymentLine } from "./DeploymentLine";
import { dropDraft, keepDraft, readDraft } from "./draft";
import { PlanPane } from "./PlanPane";
import { PreviewPane } from "./PreviewPane";
import { QueryDrawer } from "./QueryDrawer";
import { TagList } from "./TagList";
import { ProblemList } from "./ProblemList";
import { SchemaPane } from "./SchemaPane";
import { createSqlEditor, type SqlEditor } from "./sqlEditor";
import { useValidation } from "./useValidation";

interface Props {
  readonly query: QueryDocument | null;
  readonly onQuery: (query: QueryDocument) => void;
  readonly streams: readonly StreamDocument[] | null;
  readonly streamsProblem: string | null;
  readonly queries: readonly QueryDocument[];
  readonly colour: StreamColour;
}

function relations(streams: readonly StreamDocument[], queries: readonly QueryDocument[], own: string | null): SchemaRelation[] {
  return [
    ...streams.map((stream): SchemaRelation => ({ name: stream.name, kind: "stream", columns: stream.columns })),
    ...queries.filter((query) => query.name !== own).map((query): SchemaRelation => ({ name: query.name, kind: "query", columns: query.outputs })),
  ];
}

/** Streams and columns, the SQL, and the plan; everything else follows from the text. */
export function Editor(props: Props): JSX.Element {
  const { query, onQuery } = props;
  const [kept] = useState(() => readDraft(query?.id ?? null));
  const [sql, setSql] = useState(kept?.sql ?? query?.sql ?? "");
  const [name, setName] = useState(query?.name ?? kept?.name ?? "");
  const [description, setDescription] = useState(kept?.description ?? query?.description ?? "");
  const [notice, setNotice] = useState<{ text: string; bad: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  /** A new object for every press, so that the same text is tried again. */
  const [previewed, setPreviewed] = useState<{ readonly sql: string } | null>(null);
  const [deployment, setDeployment] = useState<Deployment | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<SqlEditor | null>(null);
  const nameBox = useRef<HTMLInputElement>(null);
  const schema = useRef<SchemaRelation[]>([]);
  const watching = useRef(new AbortController());
  schema.current = relations(props.streams ?? [], props.queries, query?.name ?? null);
  const checked = useValidation(sql, name.trim() === "" ? null : name.trim());
  const changed = query === null || sql !== query.sql || description !== query.description;
  const readOnly = query !== null && !query.can_edit;

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setNotice(null);
    try {
      await work();
    } catch (error) {
      if (error instanceof Refusal && error.problems.length > 0) editor.current?.show(error.problems);
      setDeployment((before) => (before?.kind === "asked" ? null : before));
      setNotice({ text: explainError(error), bad: true });
    } finally {
      setBusy(false);
    }
  };
  /** The saved query, or null when something must be filled in first. */
  const save = async (): Promise<QueryDocument | null> => {
    const text = editor.current?.text() ?? sql;
    const own = name.trim();
    if (own === "") {
      setNotice({ text: "Give the query a name first.", bad: true });
      nameBox.current?.focus();
      return null;
    }
    let saved: QueryDocument;
    if (query === null) {
      saved = await createQuery({ name: own, sql: text, description, tags: [] });
      // The page becomes the query's own without loading again, so undo reaches back to the first letter.
      window.history.replaceState(null, "", `/queries/${saved.id}/`);
      document.title = document.title.replace(/^[^·]*/, `${saved.name} `);
      document.querySelector(".page-header h1")?.replaceChildren(saved.name);
    } else {
      if (description !== query.description) await describeQuery(query.id, { description });
      saved = await saveVersion(query.id, text);
    }
    dropDraft(query?.id ?? null);
    onQuery(saved);
    setNotice({ text: `Saved as version ${saved.version}.`, bad: false });
    return saved;
  };
  const deploy = async (): Promise<void> => {
    const saved = changed ? await save() : query;
    if (saved === null) return;
    setDeployment({ kind: "asked" });
    const answer = await deployQuery(saved.id);
    watching.current.abort();
    watching.current = new AbortController();
    watchDeployment(answer, setDeployment, watching.current.signal).catch((error: unknown) =>
      setDeployment({ kind: "failed", topology: answer.topology, reason: explainError(error) }),
    );
  };
  const format = async (): Promise<void> => {
    const before = editor.current?.text() ?? "";
    const formatted = (await formatSql(before)).sql;
    if (formatted !== before && editor.current?.text() === before) editor.current.replaceAll(formatted);
  };

  // The editor lives as long as the page; its keys call what the newest rendering offers.
  const keys = useRef({ save: () => {}, deploy: () => {}, format: () => {} });
  keys.current = { save: () => void attempt(async () => void (await save())), deploy: () => void attempt(deploy), format: () => void attempt(format) };
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createSqlEditor(host.current, {
      doc: sql,
      schema: () => schema.current,
      onChange: setSql,
      onSave: () => keys.current.save(),
      onDeploy: () => keys.current.deploy(),
      onFormat: () => keys.current.format(),
    });
    editor.current = made;
    if (query === null) made.focus();
    return () => {
      watching.current.abort();
      made.dispose();
    };
  }, []);
  useEffect(() => editor.current?.show(checked.problems), [checked.problems]);
  useEffect(() => {
    if (!changed || (query === null && sql.trim() === "" && name === "")) dropDraft(query?.id ?? null);
    else keepDraft(query?.id ?? null, { sql, name, description, version: query?.version ?? null });
  }, [sql, name, description, changed]);

  const overtaken = kept !== null && query !== null && kept.version !== null && kept.version < query.version && sql === kept.sql;
  const tags = (next: string[]): void => {
    if (query !== null) void attempt(async () => onQuery(await describeQuery(query.id, { tags: next })));
  };
  return (
    <section class="editor">
      <div class="toolbar">
        <label class="inline">
          <span class="muted">Name</span>
          <input ref={nameBox} class="query-name" type="text" value={name} readOnly={query !== null} placeholder="late-rotations" maxLength={63} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="inline grow">
          <span class="muted">About</span>
          <input type="text" value={description} readOnly={readOnly} placeholder="What it finds, in one line" onInput={(event) => setDescription(event.currentTarget.value)} />
        </label>
        {query !== null && <StatusBadge state={query.status} />}
        {query !== null && query.topology !== null && <a href={`/topologies/${encodeURIComponent(query.topology)}/`}>{query.topology}</a>}
        {query !== null && <span class="muted">v{query.version}{changed ? " + changes" : ""}</span>}
        <button type="button" class="button" disabled={busy} title="Shift-Alt-F" onClick={keys.current.format}>Format</button>
        <button type="button" class="button" disabled={checked.problems.length > 0 || sql.trim() === ""} title="Run it over recent tuples, without deploying it" onClick={() => setPreviewed({ sql: editor.current?.text() ?? sql })}>Preview</button>
        <button type="button" class="button" disabled={busy || readOnly || !changed} title="Ctrl-S" onClick={keys.current.save}>Save</button>
        <button type="button" class="button primary" disabled={busy || readOnly || checked.problems.length > 0 || sql.trim() === ""} title="Ctrl-Enter" onClick={keys.current.deploy}>Deploy</button>
      </div>
      {query !== null && (
        <div class="toolbar">
          <FavouriteButton query={query} onChanged={() => onQuery({ ...query, favourite: !query.favourite })} />
          <TagList tags={query.tags} editable={query.can_edit} onTags={tags} />
        </div>
      )}
      {readOnly && <p class="muted">This query belongs to {query.owner}; you can read it but not change it.</p>}
      {overtaken && (
        <p class="notice">
          Your draft is older than version {query.version}. <button type="button" class="link" onClick={() => editor.current?.replaceAll(query.sql)}>Take version {query.version}</button>
        </p>
      )}
      {notice !== null && <p class={notice.bad ? "problem-line" : "notice"} role={notice.bad ? "alert" : "status"}>{notice.text}</p>}
      {deployment !== null && <DeploymentLine deployment={deployment} />}
      <div class="editor-panes">
        <SchemaPane streams={props.streams} queries={props.queries.filter((other) => other.id !== query?.id)} problem={props.streamsProblem} colour={props.colour} onInsert={(text) => editor.current?.insert(text)} />
        <div class="pane sql">
          <div ref={host} class="sql-host" />
          <ProblemList problems={checked.problems} empty={sql.trim() === ""} validation={checked.validation} pending={checked.pending} onGo={(problem) => editor.current?.goTo(problem)} onFix={(problem) => editor.current?.fix(problem)} />
        </div>
        <PlanPane explanation={checked.explanation} outlook={checked.outlook} reason={checked.reason} stale={checked.pending || checked.problems.length > 0} colour={props.colour} />
      </div>
      {previewed !== null && <PreviewPane key={previewed.sql} asked={previewed} name={name.trim() === "" ? null : name.trim()} changed={previewed.sql !== sql} onClose={() => setPreviewed(null)} />}
      {query !== null && (
        <QueryDrawer
          query={query}
          onQuery={onQuery}
          onReverted={(saved) => {
            onQuery(saved);
            editor.current?.replaceAll(saved.sql);
            setNotice({ text: `Version ${saved.version} has the older text. Deploy it to run it.`, bad: false });
          }}
        />
      )}
    </section>
  );
}
