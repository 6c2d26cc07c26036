import type { JSX } from "preact";
import { clock, plural } from "../format/quantities";
import type { Finding, Health } from "./health";

interface Props {
  /** Null until the first answer. */
  readonly health: Health | null;
  /** Why the newest attempt to find out failed. */
  readonly problem: string | null;
  /** The server's time of the answer. */
  readonly at: string | null;
}

/** Whether anything is wrong, in one line that keeps its height; all findings below it on demand. */
export function HealthLine({ health, problem, at }: Props): JSX.Element {
  const { sign, kind, text, findings } = verdictOf(health, problem);
  const [first, ...others] = findings;
  return (
    <section class={`health health-${kind}`} aria-label="Is anything wrong?">
      <p role="status">
        <span aria-hidden="true">{sign}</span> <strong>{text}</strong>
        {first !== undefined && (
          <>
            {" "}
            <FindingLink finding={first} />
          </>
        )}
      </p>
      {others.length > 0 && (
        <details>
          <summary>All {findings.length}</summary>
          <ul>
            {findings.map((finding) => (
              <li key={finding.text}>
                <FindingLink finding={finding} />
              </li>
            ))}
          </ul>
        </details>
      )}
      <span class="muted small">{at === null ? "" : `as of ${clock(at)} UTC`}</span>
    </section>
  );
}

function FindingLink({ finding }: { readonly finding: Finding }): JSX.Element {
  return (
    <a href={finding.href} title={finding.text}>
      {finding.text}
    </a>
  );
}

interface Verdict {
  readonly sign: string;
  readonly kind: "wrong" | "unknown" | "well";
  readonly text: string;
  readonly findings: readonly Finding[];
}

function verdictOf(health: Health | null, problem: string | null): Verdict {
  if (problem !== null) return { sign: "✕", kind: "wrong", text: `Not known: ${problem}`, findings: [] };
  if (health === null) return { sign: "…", kind: "unknown", text: "Checking", findings: [] };
  const { wrong, unknown } = health;
  if (wrong.length > 0) {
    const text = wrong.length === 1 ? "One thing is wrong:" : `${plural(wrong.length, "thing")} are wrong:`;
    return { sign: "✕", kind: "wrong", text, findings: [...wrong, ...unknown] };
  }
  if (unknown.length > 0)
    return { sign: "◌", kind: "unknown", text: "Not all is known yet:", findings: unknown };
  return { sign: "✓", kind: "well", text: "Nothing is wrong.", findings: [] };
}
