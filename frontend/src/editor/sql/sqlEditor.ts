/** The SQL editor: CodeMirror with our completion, our problems and our keys. */
import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  snippet,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyField, historyKeymap, indentWithTab } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "../../api/documents";
import { type Offer, offersAt, type SchemaRelation } from "./completion";
import type { SqlFunction } from "./functions";
import { problemSpan } from "./problemSpan";

/** The words of the language: a standard's list would colour columns such as `day` too, and lacks ASOF. */
const DIALECT = SQLDialect.define({
  keywords:
    "all and as asc asof between by case cast cross desc distinct else end exists filter for from full " +
    "group having ilike in inner interval is join left like limit not of on or order outer range right " +
    "select system_time then unbounded union using when where with",
  types: "bigint binary boolean date decimal double int string time timestamp uuid varchar",
});

export interface SqlEditorOptions {
  readonly doc: string;
  /** What `state` gave when the page was left with this text; null to begin without a past. */
  readonly state: unknown;
  readonly schema: () => readonly SchemaRelation[];
  /** Functions of the administrator, beside those of SQL. */
  readonly functions: readonly SqlFunction[];
  readonly onChange: (sql: string) => void;
  readonly onSave: () => void;
  readonly onDeploy: () => void;
  readonly onFormat: () => void;
}

export interface SqlEditor {
  text(): string;
  /** The text with all that can be undone and redone, as JSON. */
  state(): unknown;
  /** One undoable change of the whole text. */
  replaceAll(sql: string): void;
  insert(text: string): void;
  /** One undoable change of a part. */
  replace(from: number, to: number, text: string): void;
  show(problems: readonly Problem[]): void;
  /** Apply a problem's suggestion where the problem is underlined now. */
  fix(problem: Problem): void;
  goTo(problem: Problem): void;
  focus(): void;
  dispose(): void;
}

const KINDS: Readonly<Record<Offer["kind"], string>> = {
  stream: "class",
  query: "interface",
  column: "property",
  alias: "variable",
  function: "function",
  keyword: "keyword",
  window: "type",
};

const PAST = { past: historyField };

function completionOf(offer: Offer): Completion {
  return {
    label: offer.label,
    type: KINDS[offer.kind],
    ...(offer.detail === undefined ? {} : { detail: offer.detail }),
    ...(offer.help === undefined ? {} : { info: offer.help }),
    ...(offer.boost === undefined ? {} : { boost: offer.boost }),
    ...(offer.template === undefined ? {} : { apply: snippet(offer.template) }),
  };
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--sql-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.operator, tags.punctuation], color: "var(--text)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
]);

export function createSqlEditor(element: HTMLElement, options: SqlEditorOptions): SqlEditor {
  const complete = (context: CompletionContext): CompletionResult | null => {
    const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
    // Nothing is called like a number, and Enter behind one shall begin a line.
    if (!context.explicit && context.matchBefore(/(?<![\w.])[\d.]+$/) !== null) return null;
    // By itself only while a name is being written; after a space only when asked (Ctrl-Space) or behind FROM
    // and JOIN.
    const asked =
      context.explicit ||
      /[\w.[]/.test(before) ||
      context.matchBefore(/\b(?:from|join|where|and|on)\s+$/i) !== null;
    if (!asked) return null;
    const { from, offers } = offersAt(
      context.state.doc.toString(),
      context.pos,
      options.schema(),
      options.functions,
    );
    return offers.length === 0 ? null : { from, options: offers.map(completionOf), validFor: /^[\w$]*$/ };
  };
  const run = (action: () => void) => (): boolean => {
    action();
    return true;
  };
  let shown: readonly Problem[] = [];

  const config = {
    doc: options.doc,
    extensions: [
      keymap.of([
        { key: "Mod-Enter", run: run(options.onDeploy) },
        { key: "Mod-s", run: run(options.onSave), preventDefault: true },
        { key: "Shift-Alt-f", run: run(options.onFormat), preventDefault: true },
        { key: "Mod-.", run: () => fixNearest() },
        { key: "Tab", run: acceptCompletion },
      ]),
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      EditorState.allowMultipleSelections.of(true),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      autocompletion({ override: [complete], icons: false, activateOnTyping: true }),
      sql({ dialect: DIALECT }),
      syntaxHighlighting(colours),
      lintGutter(),
      placeholder(
        "SELECT d.flight, w.wind_speed\n" +
          "FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w\n" +
          "WHERE d.origin = w.origin",
      ),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", tabindex: "0" }),
      keymap.of([
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...lintKeymap,
        ...historyKeymap,
        ...defaultKeymap,
        indentWithTab,
      ]),
      EditorView.updateListener.of((change) => {
        if (change.docChanged) options.onChange(change.state.doc.toString());
      }),
    ],
  };
  const view = new EditorView({
    parent: element,
    state:
      options.state === null ? EditorState.create(config) : EditorState.fromJSON(options.state, config, PAST),
  });

  const fix = (problem: Problem): void => {
    if (problem.suggestion === null || problem.column === null) return;
    const { from, to } = problemSpan(problem, view.state.doc);
    view.dispatch({
      changes: { from, to, insert: problem.suggestion },
      selection: { anchor: from + problem.suggestion.length },
      userEvent: "input.fix",
    });
    view.focus();
  };
  const fixNearest = (): boolean => {
    const here = view.state.selection.main.head;
    const fixable = shown.filter((problem) => problem.suggestion !== null && problem.column !== null);
    const nearest = fixable.sort(
      (a, b) =>
        Math.abs(problemSpan(a, view.state.doc).from - here) -
        Math.abs(problemSpan(b, view.state.doc).from - here),
    )[0];
    if (nearest === undefined) return nextDiagnostic(view);
    fix(nearest);
    return true;
  };
  const diagnostic = (problem: Problem): Diagnostic => ({
    ...problemSpan(problem, view.state.doc),
    severity: "error",
    message: `found ${problem.found}, expected ${problem.expected}`,
    ...(problem.suggestion === null || problem.column === null
      ? {}
      : { actions: [{ name: `Replace with ${problem.suggestion}`, apply: () => fix(problem) }] }),
  });

  return {
    text: () => view.state.doc.toString(),
    state: () => view.state.toJSON(PAST),
    replaceAll: (text) => {
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        userEvent: "input.replace",
      });
    },
    insert: (text) => {
      view.dispatch(view.state.replaceSelection(text), { userEvent: "input.insert" });
      view.focus();
    },
    replace: (from, to, text) => {
      view.dispatch({ changes: { from, to, insert: text }, userEvent: "input.replace" });
    },
    show: (problems) => {
      shown = problems;
      view.dispatch(setDiagnostics(view.state, problems.map(diagnostic)));
    },
    fix,
    goTo: (problem) => {
      const { from } = problemSpan(problem, view.state.doc);
      view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    dispose: () => view.destroy(),
  };
}
