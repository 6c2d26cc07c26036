import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewPerson, Person, PersonPage } from "../api/documents";
import { answered, at, client } from "../api/request";
import { ago } from "../format/quantities";
import type { IslandProps } from "../shell/islandProps";
import { Button } from "../ui/Button";
import { SearchField, Select, submits } from "../ui/fields";
import { Loading } from "../ui/Loading";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { useNow } from "../ui/useNow";
import { useRequest } from "../ui/useRequest";
import { NewPersonForm } from "./NewPersonForm";
import { PasswordLinkNotice } from "./PasswordLinkNotice";
import { PersonDetail } from "./PersonDetail";
import { ROLES } from "./roles";
import { ANYBODY, narrows, queryOf, type Wanted } from "./wanted";

const FIRST = 100;
const MOST = 500;
const STATES = [
  ["", "enabled or not"],
  ["true", "enabled"],
  ["false", "disabled"],
] as const;

/** Who may do what: accounts of persons, made and changed by admins; operators set their quotas. */
export function AccountsIsland({ me }: IslandProps): JSX.Element {
  const isAdmin = me.role === "admin";
  const [wanted, setWanted] = useState(ANYBODY);
  const [typed, setTyped] = useState("");
  const [made, setMade] = useState<NewPerson | null>(null);
  const choose = (part: Partial<Wanted>): void => setWanted({ ...wanted, text: typed, ...part });
  return (
    <section class="accounts">
      <p class="muted">
        Persons sign in with these accounts. Programs have <a href="/tokens/">tokens</a>, or service accounts
        of a <a href="/teams/">team</a>.
      </p>
      {isAdmin && <NewPersonForm onMade={setMade} />}
      {made !== null && <PasswordLinkNotice name={made.person.username} link={made.link} />}
      <form class="toolbar" aria-label="Narrow" onSubmit={submits(() => choose({}))}>
        <SearchField label="Find in names and addresses" value={typed} onValue={setTyped} />
        <Button type="submit">Find</Button>
        <Select
          aria-label="Role"
          value={wanted.role}
          options={[["", "any role"], ...ROLES.map(([role]) => role)]}
          onValue={(role) => choose({ role: role as Wanted["role"] })}
        />
        <Select
          aria-label="State"
          value={wanted.active}
          options={STATES}
          onValue={(active) => choose({ active: active as Wanted["active"] })}
        />
      </form>
      <Accounts
        key={`${JSON.stringify(wanted)} ${made?.person.id}`}
        wanted={wanted}
        isAdmin={isAdmin}
        onAll={() => {
          setTyped("");
          setWanted(ANYBODY);
        }}
      />
    </section>
  );
}

interface AccountsProps {
  readonly wanted: Wanted;
  readonly isAdmin: boolean;
  /** Looks for anybody again. */
  readonly onAll: () => void;
}

function Accounts({ wanted, isAdmin, onAll }: AccountsProps): JSX.Element {
  const now = useNow();
  const [limit, setLimit] = useState(FIRST);
  const load = (): Promise<PersonPage> =>
    answered(client.GET("/api/persons/", { params: { query: { ...queryOf(wanted), limit } } }));
  const { value, problem, reload } = useLoaded(load, null, limit);
  const [open, setOpen] = useState<number | null>(null);
  const { problem: refused, send } = useRequest();
  if (value === null) return <Loading problem={problem} />;
  if (value.persons.length === 0)
    return (
      <p class="empty">
        {narrows(wanted) ? (
          <>
            No account is like that. <Button onClick={onAll}>Show all</Button>
          </>
        ) : (
          "There is no account of a person."
        )}
      </p>
    );
  const giveRole = (person: Person, role: Person["role"]): void =>
    send(
      answered(client.PATCH("/api/persons/{id}/", { ...at({ id: person.id }), body: { role } })).finally(
        reload,
      ),
      () => undefined,
    );
  const columns: readonly Column<Person>[] = [
    {
      label: "Account",
      names: true,
      cell: ({ username, email }) => (
        <>
          {username} <span class="muted small">{email}</span>
        </>
      ),
    },
    {
      label: "Role",
      cell: (person) =>
        isAdmin ? (
          <Select
            aria-label={`Role of ${person.username}`}
            value={person.role}
            options={ROLES}
            onValue={(role) => giveRole(person, role as Person["role"])}
          />
        ) : (
          person.role
        ),
    },
    { label: "Teams", short: "teams", cell: ({ teams }) => teams.join(", ") || "–" },
    {
      label: "State",
      cell: ({ is_active }) => (is_active ? "enabled" : <span class="far-off">disabled</span>),
    },
    {
      label: "Signs in by",
      short: "signs in by",
      cell: ({ by_provider, has_second_factor }) =>
        `${by_provider ? "the provider" : "password"}${has_second_factor ? " and code" : ""}`,
    },
    {
      label: "Signed in",
      short: "signed in",
      cell: ({ signed_in_at }) => (signed_in_at === null ? "never" : ago(signed_in_at, now)),
    },
    {
      label: "Manage",
      hidden: true,
      cell: (person) => (
        <Button
          small
          aria-label={`${isAdmin ? "Manage" : "Quotas of"} ${person.username}`}
          onClick={() => setOpen(person.id)}
        >
          {isAdmin ? "Manage" : "Quotas"}
        </Button>
      ),
    },
  ];
  const shown = value.persons.find(({ id }) => id === open);
  if (shown !== undefined)
    return (
      <>
        <div class="toolbar">
          <Button onClick={() => setOpen(null)}>All accounts</Button>
        </div>
        <PersonDetail key={shown.id} person={shown} isAdmin={isAdmin} onChange={reload} />
      </>
    );
  return (
    <>
      <ProblemLine text={refused ?? problem} />
      <Table columns={columns} rows={value.persons} rowKey={({ id }) => id} />
      {value.next !== null &&
        (limit < MOST ? (
          <Button onClick={() => setLimit(MOST)}>Show up to {MOST}</Button>
        ) : (
          <p class="muted">These are the first {MOST}: find others by their names.</p>
        ))}
    </>
  );
}
