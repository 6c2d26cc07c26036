import type { JSX } from "preact";

/** Why something failed, announced once it appears; nothing without a reason. */
export function ProblemLine({ text }: { readonly text: string | null }): JSX.Element | null {
  return text === null ? null : (
    <p class="problem-line" role="alert">
      {text}
    </p>
  );
}
