import type { JSX } from "preact";
import type { PasswordLink } from "../api/documents";
import { instant } from "../format/quantities";
import { Button } from "../ui/Button";
import { ProblemLine } from "../ui/ProblemLine";
import { useRequest } from "../ui/useRequest";

interface Props {
  readonly name: string;
  readonly link: PasswordLink;
}

/** A link to hand over, shown once. */
export function PasswordLinkNotice({ name, link }: Props): JSX.Element {
  const address = `${window.location.origin}${link.path}`;
  const { problem, send } = useRequest();
  return (
    <div class="notice" role="status">
      <p>
        Hand this link over to {name}, who chooses a password there. It is good once, until{" "}
        {instant(link.valid_until)} UTC, and is not shown again.
      </p>
      <p>
        <code class="secret">{address}</code>{" "}
        <Button small onClick={() => send(navigator.clipboard.writeText(address), () => undefined)}>
          Copy
        </Button>
      </p>
      <ProblemLine text={problem} />
    </div>
  );
}
