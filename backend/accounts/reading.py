"""What an account may read.

Everybody who is signed in reads everything, until a team is made private, or the installation
(MILLRACE_PRIVATE=1). What a private team has is then read by its members and by admins; nobody else learns
that it is there. In a private installation every team is, but one that is made open, and what no team has
is its owner's.

Each room has one rule on this: `streams.queries.streams`, `topologies.query_search.queries`,
`topologies.queries.topologies` give what an account reads, and whoever answers a request asks them. What one
document says of several teams' queries goes through `topologies.sight`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from backend.accounts.models import Team
from backend.accounts.queries import role_of


class Reads(StrEnum):
    """The rule under which a view shows something.

    Every view names one (tests/security/test_reading.py).
    """

    EVERYBODY = "everybody"
    """The same to everybody, and nothing of what teams have."""
    OWN = "own"
    """What the account that asks has, or sends."""
    TEAM = "team"
    """One's own teams'; admins read all."""
    STREAM = "stream"
    QUERY = "query"
    TOPOLOGY = "topology"
    RUN = "run"
    """Of a topology that is read."""
    ALERT = "alert"
    """Rules of one's own and one's teams'."""
    OPERATOR = "operator"
    """Nothing; operators and admins read it, whosever it is."""
    ADMIN = "admin"
    """Nothing; admins read it, whosever it is."""
    SEVERAL = "several"
    """Of many things those that the account reads."""


def privacy_in_force() -> bool:
    """Whether there is anything that some account does not read."""
    return bool(settings.MILLRACE_PRIVATE) or Team.objects.filter(private=True).exists()


def reads_everything(account: User | AnonymousUser) -> bool:
    """True for admins, and for everybody while nothing is private."""
    return not privacy_in_force() or role_of(account) == "admin"


def readable(account: User | AnonymousUser, at: str = "") -> Q:
    """The condition under which the account reads a record with an owner and a team.

    Args:
        at: where that record is from the one that is asked for, such as `query__`.
    """
    if reads_everything(account):
        return Q()
    mine, opened = Q((f"{at}team__in", teams_of_member(account))), Q((f"{at}team__private", False))
    if settings.MILLRACE_PRIVATE:
        return mine | opened | Q((f"{at}team", None), (f"{at}owner", account.pk))
    # Also true of what no team has.
    return mine | opened | Q((f"{at}team__private__isnull", True))


def teams_of_member(account: User | AnonymousUser) -> QuerySet[Team]:
    """The teams that the account is in; none for a caller who is not signed in."""
    return Team.objects.none() if account.pk is None else Team.objects.filter(members=account.pk)


def teams_known(account: User) -> QuerySet[Team]:
    """The teams that the account may know of: its own, and those that are not private."""
    if reads_everything(account):
        return Team.objects.all()
    is_open = Q(private=False) if settings.MILLRACE_PRIVATE else ~Q(private=True)
    return Team.objects.filter(is_open | Q(pk__in=teams_of_member(account)))


def is_private(team: Team) -> bool:
    """Whether only its members and admins read what the team has."""
    return bool(settings.MILLRACE_PRIVATE) if team.private is None else team.private


def reads_team(account: User, team: Team | None, owner_id: int) -> bool:
    """Whether the account reads what the team has.

    Without a team, what the owner has.
    """
    if reads_everything(account):
        return True
    if team is None:
        return not settings.MILLRACE_PRIVATE or owner_id == account.pk
    return not is_private(team) or team.members.filter(pk=account.pk).exists()


def told(account: User, names: Sequence[str], what: str = "queries") -> str:
    """Things in the way of something, as a refusal tells them.

    By name, or only what they are.

    Where anything is private the account may not know of some of them.
    """
    return ", ".join(names) if reads_everything(account) else what


def teams_seen(account: User) -> QuerySet[Team]:
    """The account's teams; for admins all."""
    found = Team.objects.prefetch_related("members__service_account")
    return found if role_of(account) == "admin" else found.filter(members=account.pk)
