"""Making, changing and deleting teams, and who is in them.

All of it is admins'. The audit trail has each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from backend.accounts.actions import in_the_way
from backend.accounts.models import Team
from backend.accounts.queries import is_service, refuse_non_admins
from backend.accounts.recording import about_team
from backend.audit.actions import record
from backend.audit.changes import changed
from backend.errors import Conflict

LIMITS = ("max_state_tuples", "max_tuple_rate", "max_state_bytes", "max_result_rate")
"""Fields of what one query of the team may cost."""


def create_team(admin: User, name: str) -> Team:
    """Make a team without members.

    Raises `Forbidden` unless for admins, and `Conflict` when the name is taken, in whichever case.
    """
    refuse_non_admins(admin, "make teams")
    _refuse_taken(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name)
            record(admin, "create", about_team(team))
    except IntegrityError as error:
        raise _taken(name) from error
    return team


def change_team(admin: User, team: Team, fields: Mapping[str, object]) -> None:
    """Give a team another name, other readers or other limits.

    Whoever read what it has and no longer may is sent away within a second.

    Args:
        fields: of `Team`, by name: `name`, `private` (None: as the installation is), and `LIMITS` (None: the
            installation's).

    Raises `Forbidden` unless for admins, and `Conflict` when the name is taken.
    """
    refuse_non_admins(admin, f"change {team}")
    before = {name: getattr(team, name) for name in fields}
    changes = changed(before, fields)
    if "name" in changes:
        _refuse_taken(str(fields["name"]), team)
    for name, value in fields.items():
        setattr(team, name, value)
    try:
        with transaction.atomic():
            team.save(update_fields=list(fields))
            if changes:
                record(admin, "change", about_team(team), changes=changes)
    except IntegrityError as error:
        raise _taken(team.name) from error


def delete_team(admin: User, team: Team) -> None:
    """Delete a team that has nothing; its members stay.

    Raises `Forbidden` unless for admins, and `Conflict` while it has streams, queries or service accounts.
    """
    refuse_non_admins(admin, f"delete {team}")
    try:
        with transaction.atomic():
            record(admin, "delete", about_team(team))
            team.delete()
    except ProtectedError as error:
        text = f"{team} has {in_the_way(error)}; delete that, or give it to somebody else, first"
        raise Conflict("has-something", text) from error


@transaction.atomic
def change_members(admin: User, team: Team, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
    """Put persons into the team, and take others out.

    What somebody owns who leaves stays the team's, and is theirs to change.

    Args:
        add: names of accounts; those that are in it stay.
        remove: names of accounts; those that are not in it stay out.

    Raises `Forbidden` unless for admins, and `Conflict` when there is no such account, or it is a service
    account, which stays in the team that has it.
    """
    refuse_non_admins(admin, f"say who is in {team}")
    found = {one.username: one for one in User.objects.filter(username__in=[*add, *remove])}
    for name in (*add, *remove):
        if name not in found:
            raise Conflict("no-account", f"there is no account {name}")
        if is_service(found[name]):
            raise Conflict(
                "service-account", f"{name} is a service account, which stays in the team that has it"
            )
    team.members.add(*(found[name] for name in add))
    team.members.remove(*(found[name] for name in remove))


def _refuse_taken(name: str, but: Team | None = None) -> None:
    # Whatever the case: nobody shall take one for another.
    others = Team.objects.all() if but is None else Team.objects.exclude(pk=but.pk)
    if others.filter(name__iexact=name).exists():
        raise _taken(name)


def _taken(name: str) -> Conflict:
    return Conflict("name-taken", f"there is a team {name} already")
