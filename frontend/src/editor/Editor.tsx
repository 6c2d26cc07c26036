import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryDocument, StreamDocument } from "../api/documents";
import { createQuery, deployQuery, describeQuery, formatSql, saveVersion } from "../api/endpoints";
import { explainError, Refusal } from "../api/request";
import { FavouriteButton } from "../catalog/FavouriteButton";
import type { StreamColour } from "../colour/streams";
import { StatusBadge } from "../ui/StatusBadge";
import { PlanPane } from "./plan/PlanPane";
import { PreviewPane } from "./plan/PreviewPane";
import { useValidation } from "./plan/useValidation";
import { DeploymentLine } from "./query/DeploymentLine";
import { type Deployment, watchDeployment } from "./query/deployment";
import { QueryDrawer } from "./query/QueryDrawer";
import { QueryLight } from "./query/QueryLight";
import { TagList } from "./query/TagList";
import type { SchemaRelation } from "./sql/completion";
import type { SqlFunction } from "./sql/functions";
import { ParameterBar } from "./sql/ParameterBar";
import { ProblemList } from "./sql/ProblemList";
import { SchemaPane } from "./sql/SchemaPane";
import { createSqlEditor, type SqlEditor } from "./sql/sqlEditor";
import { dropDraft, keepDraft, readDraft } from "./text/draft";
import { type Shared, sharedIn, shareLink } from "./text/share";
import { TextHistory } from "./text/TextHistory";
import { type Entry, readHistory, remember } from "./text/textHistory";
import { dropUndo, keepUndo, readUndo } from "./text/undoHistory";

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

/** The text that the page's address carries. It is taken out of the address; what it takes the place of goes to the history. */
function takeShared(present: string, name: string): Shared | null {
  const found = sharedIn(window.location.hash);
  if (found === null) return null;
  if (present.trim() !== "" && present !== found.sql)
    remember({ at: new Date().toISOString(), action: "replaced", name, sql: present });
  window.history.replaceState(null, "", window.location.pathname);
  return found;
}

/** Streams and columns, the SQL, and the plan; everything else follows from the text. */
export function Editor(props: Props): JSX.Element {
  const { query, onQuery } = props;
  const [kept] = useState(() => readDraft(query?.id ?? null));
  const [shared] = useState(() => takeShared(kept?.sql ?? query?.sql ?? "", query?.name ?? kept?.name ?? ""));
  const [sql, setSql] = useState(shared?.sql ?? kept?.sql ?? query?.sql ?? "");
  const [name, setName] = useState(query?.name ?? shared?.name ?? kept?.name ?? "");
  const [description, setDescription] = useState(
    shared?.description ?? kept?.description ?? query?.description ?? "",
  );
  const [past, setPast] = useState<readonly Entry[] | null>(null);
  const [link, setLink] = useState<string | null>(null);
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
  const keepsNothing = readOnly || props.viewer;

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
      dropUndo(null);
      // The page becomes the query's own without loading again, so undo reaches back to the first letter.
      window.history.replaceState(null, "", `/queries/${saved.id}/`);
      document.title = document.title.replace(/^[^·]*/, `${saved.name} `);
      document.querySelector(".page-header h1")?.replaceChildren(saved.name);
    } else {
      if (description !== query.description) await describeQuery(query.id, { description });
      saved = await saveVersion(query.id, text);
    }
    dropDraft(query?.id ?? null);
    noted("saved", saved.name, text);
    onQuery(saved);
    setNotice({ text: `Saved as version ${saved.version}.`, bad: false });
    return saved;
  };
  const deploy = async (): Promise<void> => {
    const saved = changed ? await save() : query;
    if (saved === null) return;
    setDeployment({ kind: "asked" });
    noted("deployed", saved.name, saved.sql);
    const answer = await deployQuery(saved.id);
    watching.current.abort();
    watching.current = new AbortController();
    watchDeployment(answer, setDeployment, watching.current.signal).catch((error: unknown) =>
      setDeployment({ kind: "failed", topology: answer.topology, reason: explainError(error) }),
    );
  };
  const noted = (action: Entry["action"], called: string, text: string): void => {
    const entries = remember({ at: new Date().toISOString(), action, name: called, sql: text });
    setPast((shown) => (shown === null ? null : entries));
  };
  /** A saved query without changes has an address already; any other text travels in the link. */
  const share = async (): Promise<void> => {
    const path = query === null ? "/queries/new/" : `/queries/${query.id}/`;
    const address = changed
      ? shareLink(window.location.origin, path, { sql: editor.current?.text() ?? sql, name, description })
      : `${window.location.origin}${path}`;
    setLink(address);
    // Only a page that came over HTTPS, or from this machine, may write to the clipboard.
    if (window.isSecureContext) await navigator.clipboard.writeText(address);
    setNotice({
      text: window.isSecureContext ? "The link is on your clipboard." : "Copy the link below.",
      bad: false,
    });
  };
  const format = async (): Promise<void> => {
    const before = editor.current?.text() ?? "";
    const formatted = (await formatSql(before)).sql;
    if (formatted !== before && editor.current?.text() === before) editor.current.replaceAll(formatted);
  };

  const own = useRef<number | null>(null);
  own.current = query?.id ?? null;
  const keep = (text: string): void => {
    const differs = query === null || text !== query.sql || description !== query.description;
    if (!differs || (query === null && text.trim() === "" && name === "")) dropDraft(query?.id ?? null);
    else keepDraft(query?.id ?? null, { sql: text, name, description, version: query?.version ?? null });
  };
  // The editor lives as long as the page; its keys call what the newest rendering offers.
  const keys = useRef({ save: () => {}, deploy: () => {}, format: () => {}, keep });
  keys.current = {
    save: () => void attempt(async () => void (await save())),
    deploy: () => void attempt(deploy),
    format: () => void attempt(format),
    keep,
  };
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createSqlEditor(host.current, {
      doc: sql,
      state: shared === null ? readUndo(query?.id ?? null, sql) : null,
      schema: () => schema.current,
      functions: props.functions,
      onChange: setSql,
      onSave: () => keys.current.save(),
      onDeploy: () => keys.current.deploy(),
      onFormat: () => keys.current.format(),
    });
    editor.current = made;
    if (query === null) made.focus();
    // Leaving is rarer than typing, and `pagehide` comes before every way of leaving.
    // The newest letters may not have been rendered yet.
    const leave = (): void => {
      keys.current.keep(made.text());
      keepUndo(own.current, made.text(), made.state());
    };
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      watching.current.abort();
      made.dispose();
    };
  }, []);
  useEffect(() => editor.current?.show(checked.problems), [checked.problems]);
  useEffect(() => keep(sql), [sql, name, description, changed]);

  const preview = (): void => {
    const text = editor.current?.text() ?? sql;
    noted("previewed", name.trim(), text);
    setPreviewed({ sql: text });
  };
  const overtaken =
    kept !== null &&
    query !== null &&
    kept.version !== null &&
    kept.version < query.version &&
    sql === kept.sql;
  const tags = (next: string[]): void => {
    if (query !== null) void attempt(async () => onQuery(await describeQuery(query.id, { tags: next })));
  };
  return (
    <section class="editor">
      <div class="toolbar">
        <label class="inline">
          <span class="muted">Name</span>
          <input
            ref={nameBox}
            class="query-name"
            type="text"
            value={name}
            readOnly={query !== null}
            placeholder="late-rotations"
            maxLength={63}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="inline grow">
          <span class="muted">About</span>
          <input
            type="text"
            value={description}
            readOnly={readOnly}
            placeholder="What it finds, in one line"
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        </label>
        {query !== null && <StatusBadge state={query.status} title={query.suspended} />}
        {query !== null && query.topology !== null && (
          <a href={`/topologies/${encodeURIComponent(query.topology)}/`}>{query.topology}</a>
        )}
        {query !== null && query.topology !== null && <QueryLight query={query} />}
        {query !== null && (
          <span class="muted">
            v{query.version}
            {changed ? " + changes" : ""}
          </span>
        )}
        <button
          type="button"
          class="button"
          aria-expanded={past !== null}
          title="Texts that you previewed, saved or deployed"
          onClick={() => setPast(past === null ? readHistory() : null)}
        >
          History
        </button>
        <button
          type="button"
          class="button"
          disabled={sql.trim() === ""}
          title="Copy a link to this text"
          onClick={() => void attempt(share)}
        >
          Share
        </button>
        <button
          type="button"
          class="button"
          disabled={busy}
          title="Shift-Alt-F"
          onClick={keys.current.format}
        >
          Format
        </button>
        <button
          type="button"
          class="button"
          disabled={checked.problems.length > 0 || sql.trim() === ""}
          title="Run it over recent tuples, without deploying it"
          onClick={preview}
        >
          Preview
        </button>
        <button
          type="button"
          class="button"
          disabled={busy || keepsNothing || !changed}
          title="Ctrl-S"
          onClick={keys.current.save}
        >
          Save
        </button>
        <button
          type="button"
          class="button primary"
          disabled={busy || keepsNothing || checked.problems.length > 0 || sql.trim() === ""}
          title="Ctrl-Enter"
          onClick={keys.current.deploy}
        >
          Deploy
        </button>
      </div>
      {query !== null && (
        <div class="toolbar">
          <FavouriteButton
            query={query}
            onChanged={() => onQuery({ ...query, favourite: !query.favourite })}
          />
          <TagList tags={query.tags} editable={query.can_edit} onTags={tags} />
        </div>
      )}
      {props.viewer && query === null && (
        <p class="muted">
          You are a viewer: you can write and preview a query here, but neither save nor deploy it.
        </p>
      )}
      {readOnly && (
        <p class="muted">This query belongs to {query.owner}; you can read it but not change it.</p>
      )}
      {overtaken && (
        <p class="notice">
          Your draft is older than version {query.version}.{" "}
          <button type="button" class="link" onClick={() => editor.current?.replaceAll(query.sql)}>
            Take version {query.version}
          </button>
        </p>
      )}
      {notice !== null && (
        <p class={notice.bad ? "problem-line" : "notice"} role={notice.bad ? "alert" : "status"}>
          {notice.text}
        </p>
      )}
      {link !== null && (
        <div class="toolbar">
          <label class="inline grow">
            <span class="muted">Link</span>
            <input
              type="text"
              class="mono"
              readOnly
              value={link}
              onFocus={(event) => event.currentTarget.select()}
            />
          </label>
          <button type="button" class="button small" onClick={() => setLink(null)}>
            Close
          </button>
        </div>
      )}
      {deployment !== null && <DeploymentLine deployment={deployment} />}
      <div class="editor-panes">
        <SchemaPane
          streams={props.streams}
          queries={props.queries.filter((other) => other.id !== query?.id)}
          problem={props.streamsProblem}
          colour={props.colour}
          onInsert={(text) => editor.current?.insert(text)}
        />
        <div class="pane sql">
          <ParameterBar
            sql={sql}
            readOnly={readOnly}
            onReplace={(from, to, text) => editor.current?.replace(from, to, text)}
          />
          <div ref={host} class="sql-host" />
          <ProblemList
            problems={checked.problems}
            empty={sql.trim() === ""}
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
      {past !== null && (
        <TextHistory
          entries={past}
          current={sql}
          onTake={(text) => editor.current?.replaceAll(text)}
          onClose={() => setPast(null)}
        />
      )}
      {previewed !== null && (
        <PreviewPane
          key={previewed.sql}
          asked={previewed}
          name={name.trim() === "" ? null : name.trim()}
          changed={previewed.sql !== sql}
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
