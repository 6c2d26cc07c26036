import type { JSX } from "preact";
import type { QueryDocument } from "../api/documents";
import { AccountName } from "../ui/AccountName";
import { Button } from "../ui/Button";
import { DriftLine } from "../ui/DriftLine";
import { type Notice, NoticeLine } from "../ui/Notice";
import { DeploymentLine } from "./query/DeploymentLine";
import type { Deployment } from "./query/deployment";

interface Props {
  readonly query: QueryDocument | null;
  readonly viewer: boolean;
  readonly overtaken: boolean;
  readonly onTakeSaved: (sql: string) => void;
  readonly notice: Notice | null;
  readonly link: string | null;
  readonly onCloseLink: () => void;
  readonly deployment: Deployment | null;
}

/** Between the toolbar and the text: what may not be done, what was done, and how the deployment goes. */
export function EditorNotices(props: Props): JSX.Element {
  const { query, notice, link, deployment } = props;
  return (
    <>
      {props.viewer && query === null && (
        <p class="muted">
          You are a viewer: you can write and preview a query here, but neither save nor deploy it.
        </p>
      )}
      {query !== null && !query.can_edit && (
        <p class="muted">
          This query belongs to <AccountName name={query.owner} isService={query.owner_is_service} />; you can
          read it but not change it.
        </p>
      )}
      {query !== null && <DriftLine name={query.name} applied={query.applied} />}
      {query !== null && props.overtaken && (
        <p class="notice">
          Your draft is older than version {query.version}.{" "}
          <button type="button" class="link" onClick={() => props.onTakeSaved(query.sql)}>
            Use version {query.version}
          </button>
        </p>
      )}
      <NoticeLine notice={notice} />
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
          <Button small onClick={props.onCloseLink}>
            Close
          </Button>
        </div>
      )}
      {deployment !== null && <DeploymentLine deployment={deployment} />}
    </>
  );
}
