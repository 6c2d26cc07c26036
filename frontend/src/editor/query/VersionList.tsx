import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { QueryDocument } from "../../api/documents";
import { answered, at, client } from "../../api/request";
import { ago, instant } from "../../format/quantities";
import { AccountName } from "../../ui/AccountName";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Loading";
import { ProblemLine } from "../../ui/ProblemLine";
import { useLoaded } from "../../ui/useLoaded";
import { useNow } from "../../ui/useNow";
import { useRequest } from "../../ui/useRequest";
import { PlanChange } from "./PlanChange";
import { SqlDiff } from "./SqlDiff";

interface Props {
  readonly query: QueryDocument;
  /** A version was written from an older text. */
  readonly onReverted: (query: QueryDocument) => void;
}

/** Every version, newest first: what it changed, and a way back that itself is a new version. */
export function VersionList({ query, onReverted }: Props): JSX.Element {
  const versions = useLoaded(
    () => answered(client.GET("/api/queries/{id}/versions/", at({ id: query.id }))),
    null,
    `${query.id} ${query.version}`,
  );
  const [open, setOpen] = useState<number | null>(null);
  const { problem, send } = useRequest();
  const now = useNow();
  if (versions.value === null) return <Loading problem={versions.problem} />;
  const texts = new Map(versions.value.map((version) => [version.number, version.sql]));
  const revert = (sql: string): void =>
    send(
      answered(client.POST("/api/queries/{id}/versions/", { ...at({ id: query.id }), body: { sql } })),
      onReverted,
    );
  return (
    <>
      <ProblemLine text={problem} />
      <ol class="versions">
        {versions.value.map((version) => (
          <li key={version.number}>
            <div class="toolbar">
              <strong>v{version.number}</strong>
              {version.number === query.deployed_version && <span class="good">deployed</span>}
              <span class="muted" title={`${instant(version.created_at)} UTC`}>
                <AccountName name={version.created_by} isService={version.created_by_is_service} />,{" "}
                {ago(version.created_at, now)}
              </span>
              <span class="grow" />
              <Button
                small
                aria-expanded={open === version.number}
                onClick={() => setOpen(open === version.number ? null : version.number)}
              >
                {texts.has(version.number - 1) ? `Changes from v${version.number - 1}` : "Text"}
              </Button>
              {version.number !== query.version && query.can_edit && (
                <Button
                  small
                  title={`Writes v${query.version + 1} with this text`}
                  onClick={() => revert(version.sql)}
                >
                  Revert to v{version.number}
                </Button>
              )}
            </div>
            {open === version.number && texts.has(version.number - 1) && (
              <PlanChange
                name={query.name}
                before={texts.get(version.number - 1) ?? ""}
                after={version.sql}
              />
            )}
            {open === version.number && (
              <SqlDiff
                before={texts.get(version.number - 1) ?? version.sql}
                after={version.sql}
                label={`SQL of version ${version.number}`}
              />
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
