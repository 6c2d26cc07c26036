import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { answered, at, client, explainError } from "../api/request";
import { parseGraph } from "../plan/physicalGraph";
import { ProblemLine } from "../ui/ProblemLine";
import { ownActions, topologyActions } from "./actions";
import { topologyPage } from "./addresses";
import type { IslandProps } from "./islandProps";
import { bestEntries, type Entry } from "./match";

/** An event on `window` that opens the palette. */
export const OPEN_PALETTE = "millrace:palette";

const PAGES: readonly Entry[] = [
  { kind: "page", name: "Overview", href: "/" },
  { kind: "page", name: "Queries", href: "/queries/" },
  { kind: "page", name: "Convert", href: "/convert/" },
  { kind: "page", name: "Topologies", href: "/topologies/" },
  { kind: "page", name: "Streams", href: "/streams/" },
  { kind: "page", name: "Jobs", href: "/jobs/" },
  { kind: "page", name: "Costs", href: "/costs/" },
  { kind: "page", name: "Alerts", href: "/alerts/" },
  { kind: "page", name: "Teams", href: "/teams/" },
  { kind: "page", name: "Tokens", href: "/tokens/" },
  { kind: "page", name: "Account security", href: "/account/security/" },
];

const ACCOUNTS: Entry = { kind: "page", name: "Accounts", href: "/accounts/" };
const AUDIT: Entry = { kind: "page", name: "Audit trail", href: "/audit/" };
const NEW_QUERY: Entry = { kind: "page", name: "New query", href: "/queries/new/" };

async function storesOf(topology: string): Promise<Entry[]> {
  const plan = await answered(client.GET("/api/topologies/{name}/graph/", at({ name: topology })));
  return parseGraph(plan.graph).stores.map((store) => ({
    kind: "store",
    name: store.label,
    href: `${topologyPage(topology)}#${encodeURIComponent(store.id)}`,
  }));
}

async function loadEntries(operator: boolean): Promise<Entry[]> {
  const [queries, topologies, streams] = await Promise.all([
    answered(client.GET("/api/queries/")),
    answered(client.GET("/api/topologies/")),
    answered(client.GET("/api/streams/")),
  ]);
  const planned = topologies.filter((topology) => topology.plan_id !== null);
  const stores = await Promise.all(planned.map((topology) => storesOf(topology.name)));
  return [
    ...queries.map((query): Entry => ({ kind: "query", name: query.name, href: `/queries/${query.id}/` })),
    ...topologies.map(({ name }): Entry => ({ kind: "topology", name, href: topologyPage(name) })),
    ...streams.map(
      (stream): Entry => ({
        kind: "stream",
        name: stream.name,
        href: `/streams/${encodeURIComponent(stream.name)}/`,
      }),
    ),
    ...stores.flat(),
    ...(operator ? topologyActions(topologies) : []),
  ];
}

/**
 * Ctrl-K: jump to any query, stream, topology, store or page, or do something, by a few letters of its name.
 *
 * What the account's role does not allow is not among it.
 */
export function CommandPalette({ role }: { readonly role: IslandProps["me"]["role"] }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const operator = role === "operator" || role === "admin";
  const pages = [
    ...(role === "viewer" ? [] : [NEW_QUERY]),
    ...PAGES,
    ...(operator ? [ACCOUNTS] : []),
    ...(role === "admin" ? [AUDIT] : []),
    ...ownActions(),
  ];
  const [entries, setEntries] = useState<readonly Entry[]>(pages);
  const [place, setPlace] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(null);

  const close = (): void => {
    setOpen(false);
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  useEffect(() => {
    const show = (): void => {
      before.current = document.activeElement;
      setText("");
      setPlace(0);
      setOpen(true);
    };
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        show();
      }
    };
    window.addEventListener(OPEN_PALETTE, show);
    // Captured, so that it also works inside the editor.
    window.addEventListener("keydown", onKey, true);
    return () => {
      window.removeEventListener(OPEN_PALETTE, show);
      window.removeEventListener("keydown", onKey, true);
    };
  }, []);
  useEffect(() => {
    if (!open) return;
    input.current?.focus();
    loadEntries(operator).then(
      (found) => {
        setEntries([...found, ...pages]);
        setProblem(null);
      },
      (error: unknown) => setProblem(explainError(error)),
    );
  }, [open]);
  const found = useMemo(() => bestEntries(entries, text, 12), [entries, text]);
  if (!open) return null;

  const choose = ({ href, act }: Entry): void => {
    const leave = (): void => {
      close();
      if (href !== null) window.location.assign(href);
    };
    // What fails is told here, where it was asked for.
    if (act === undefined) leave();
    else act().then(leave, (error: unknown) => setProblem(explainError(error)));
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") setPlace(Math.min(place + 1, found.length - 1));
    else if (event.key === "ArrowUp") setPlace(Math.max(place - 1, 0));
    else if (event.key === "Enter") {
      const chosen = found[place];
      if (chosen !== undefined) choose(chosen);
    } else if (event.key !== "Tab") return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer's way out; the keyboard's is Escape
    <div class="palette-backdrop" onMouseDown={(event) => event.target === event.currentTarget && close()}>
      <div class="palette" role="dialog" aria-modal="true" aria-label="Find anything">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found[place] === undefined ? undefined : `palette-${place}`}
          aria-label="Name of a query, stream, topology, store or action"
          placeholder="Query, stream, topology, store, action…"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setPlace(0);
          }}
          onKeyDown={onKey}
        />
        <div id="palette-list" class="palette-list" role="listbox" aria-label="Places">
          {found.map((entry, i) => (
            <a
              key={`${entry.kind} ${entry.name} ${entry.href}`}
              id={`palette-${i}`}
              role="option"
              aria-selected={i === place}
              href={entry.href ?? "#"}
              tabIndex={-1}
              onMouseEnter={() => setPlace(i)}
              onClick={(event) => {
                if (entry.act === undefined) {
                  setOpen(false);
                  return;
                }
                event.preventDefault();
                choose(entry);
              }}
            >
              <span class="palette-kind">{entry.kind}</span> {entry.name}
            </a>
          ))}
        </div>
        {found.length === 0 && <p class="empty">Nothing matches. Try fewer letters.</p>}
        <ProblemLine text={problem} />
      </div>
    </div>
  );
}
