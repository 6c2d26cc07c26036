import type { JSX } from "preact";

/** What came of something that a person asked for. */
export interface Notice {
  readonly text: string;
  readonly bad: boolean;
}

/** The notice, announced once it appears; nothing without one. */
export function NoticeLine({ notice }: { readonly notice: Notice | null }): JSX.Element | null {
  return notice === null ? null : (
    <p class={notice.bad ? "problem-line" : "notice"} role={notice.bad ? "alert" : "status"}>
      {notice.text}
    </p>
  );
}
