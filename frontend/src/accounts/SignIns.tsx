import type { JSX } from "preact";
import type { SignIns as Document, Person } from "../api/documents";
import { answered, at, client, done } from "../api/request";
import { ago, instant } from "../format/quantities";
import { Button } from "../ui/Button";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";
import { useRequest } from "../ui/useRequest";

const PATH = "/api/persons/{id}/sign-ins/";

/** Where the account is signed in, and from where it has to wait. */
export function SignIns({ person }: { readonly person: Person }): JSX.Element {
  const now = useNow();
  const { value, problem, reload } = useLoaded(() => answered(client.GET(PATH, at({ id: person.id }))));
  const ending = useRequest();
  if (value === null) return <Loading problem={problem} />;
  const columns: readonly Column<Document["sessions"][number]>[] = [
    { label: "Browser", cell: ({ browser }) => browser },
    { label: "From", cell: ({ address }) => address },
    { label: "Since", short: "since", cell: ({ since }) => ago(since, now) },
  ];
  const isAnywhere = value.sessions.length > 0 || value.locks.length > 0;
  return (
    <>
      <ProblemLine text={ending.problem ?? problem} />
      {value.sessions.length > 0 && <Table columns={columns} rows={value.sessions} />}
      {value.locks.map(({ address, until }) => (
        <p key={address} class="far-off">
          Too many wrong passwords from {address}: nobody signs in as {person.username} from there before{" "}
          {instant(until)} UTC.
        </p>
      ))}
      {isAnywhere ? (
        <Button
          disabled={ending.busy}
          onClick={() =>
            ending.send(done(client.DELETE(PATH, at({ id: person.id }))), () => {
              reload();
            })
          }
        >
          {value.sessions.length > 0 ? "Sign out everywhere" : "Let it try again"}
        </Button>
      ) : (
        <p class="muted">Signed in nowhere.</p>
      )}
    </>
  );
}
