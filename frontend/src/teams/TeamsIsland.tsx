import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import type { Team } from "../api/documents";
import { answered, at, client, explainError } from "../api/request";
import type { IslandProps } from "../shell/islandProps";
import { SelectField } from "../ui/fields";
import { Opened } from "../ui/Opened";
import { ProblemLine } from "../ui/ProblemLine";
import { type Column, Table } from "../ui/table/Table";
import { useLoaded } from "../ui/useLoaded";
import { NewTeamForm } from "./NewTeamForm";
import { ServiceAccounts } from "./ServiceAccounts";
import { TeamManagement } from "./TeamManagement";

const CHOICES = [
  ["", "as the installation"],
  ["private", "members and admins"],
  ["open", "everybody"],
] as const;

function readers(team: Team): string {
  return team.is_private ? "members and admins" : "everybody";
}

/** One's teams, who is in them, and who reads what they have. */
export function TeamsIsland({ me }: IslandProps): JSX.Element {
  const isAdmin = me.role === "admin";
  const teams = useLoaded(() => answered(client.GET("/api/teams/")));
  const [problem, setProblem] = useState<string | null>(null);
  const [told, setTold] = useState<string | null>(null);
  const change = (team: Team, choice: string): void => {
    setProblem(null);
    setTold(null);
    answered(
      client.PATCH("/api/teams/{id}/", {
        ...at({ id: team.id }),
        body: { private: choice === "" ? null : choice === "private" },
      }),
    )
      .then((changed) => setTold(`What ${changed.name} has is now read by ${readers(changed)}.`))
      .catch((error: unknown) => setProblem(explainError(error)))
      .finally(teams.reload);
  };
  const columns: readonly Column<Team>[] = [
    { label: "Team", cell: (team) => team.name },
    { label: "Members", cell: (team) => team.members.join(", ") || "–" },
    {
      label: "Read by",
      cell: (team) =>
        team.can_edit ? (
          <SelectField
            label={`Who reads what ${team.name} has`}
            value={team.private === null ? "" : team.private ? "private" : "open"}
            options={CHOICES}
            onValue={(choice) => change(team, choice)}
          />
        ) : (
          readers(team)
        ),
    },
  ];
  return (
    <section class="teams">
      <p class="muted">
        Members change each other's queries and streams. What a private team has, its results, dead letters
        and live events are read by its members and by admins; nobody else learns that it is there.
      </p>
      <ProblemLine text={problem ?? teams.problem} />
      {told !== null && (
        <p class="notice" role="status">
          {told}
        </p>
      )}
      {isAdmin && <NewTeamForm onMade={teams.reload} />}
      {teams.value?.length === 0 && (
        <p class="empty">
          {isAdmin
            ? "There is no team. Whoever is in one changes its queries and streams with the others."
            : "You are in no team. Admins make teams and say who is in them."}
        </p>
      )}
      {teams.value !== null && teams.value.length > 0 && (
        <Table columns={columns} rows={teams.value} rowKey={({ id }) => id} />
      )}
      {teams.value?.map((team) => (
        <Fragment key={team.id}>
          {team.can_edit && (
            <Opened summary={`Members, limits and name of ${team.name}`}>
              {() => <TeamManagement team={team} onChange={teams.reload} />}
            </Opened>
          )}
          <Opened summary={`Service accounts of ${team.name}`}>
            {() => <ServiceAccounts team={team} />}
          </Opened>
        </Fragment>
      ))}
    </section>
  );
}
