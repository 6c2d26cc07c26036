import type { JSX } from "preact";
import type { StreamColour } from "../colour/streams";

export function StreamChip({
  stream,
  colour,
  href,
}: {
  stream: string;
  colour: StreamColour;
  href?: string;
}): JSX.Element {
  const dot = <span class="dot" style={{ background: colour(stream) }} aria-hidden="true" />;
  return href === undefined ? (
    <span class="chip">
      {dot}
      {stream}
    </span>
  ) : (
    <a class="chip" href={href}>
      {dot}
      {stream}
    </a>
  );
}
