"""What an account may do.

    role      groups                    may
    viewer    viewers                   read
    author    authors, or no group      also write queries and streams; change, fill and deploy their
                                        own and their teams'
    operator  operators                 also start, stop and plan topologies; change everybody's
    admin     admins, and superusers    also make accounts and teams, and give roles (`backend.persons`)

An account's role is the highest of its groups', but no service account is more than an author. What it may
read says `backend.accounts.reading`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Case, CharField, Exists, OuterRef, QuerySet, Value, When

from backend.accounts.models import Team
from backend.errors import Forbidden

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _WithRole(TypedDict):
        role: Role

    Person = WithAnnotations[User, _WithRole]

Role = Literal["viewer", "author", "operator", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "author", "operator", "admin")
"""From the least to the most."""

OPERATORS = "operators"
"""The group of accounts that run the topologies."""
ADMINS = "admins"
"""The group of accounts that say who may do what."""
GROUPS: dict[str, Role] = {
    "viewers": "viewer",
    "authors": "author",
    OPERATORS: "operator",
    ADMINS: "admin",
}


def role_of(account: User | AnonymousUser) -> Role | None:
    """The account's role; None if the caller is not signed in."""
    if not account.is_authenticated or not account.is_active:
        return None
    role: Role = "admin"
    if not account.is_superuser:
        names = account.groups.filter(name__in=GROUPS).values_list("name", flat=True)
        role = max((GROUPS[name] for name in names), key=ROLES.index, default="author")
    # Whatever groups a command has given it. Asked last: nearly nobody is more than an author.
    return "author" if role in ("operator", "admin") and is_service(account) else role


def persons() -> QuerySet[Person]:
    """The accounts that are persons, by name, each with its `role`.

    This is what `role_of` finds once the account is active.
    """
    held = {
        role: Exists(User.groups.through._default_manager.filter(user=OuterRef("pk"), group__name=name))
        for name, role in GROUPS.items()
    }
    highest_first = [When(held[role], then=Value(role)) for role in reversed(ROLES)]
    role = Case(
        When(is_superuser=True, then=Value("admin")),
        *highest_first,
        default=Value("author"),
        output_field=CharField(),
    )
    return User.objects.filter(service_account=None).annotate(role=role).order_by("username")


def refuse_non_admins(account: User | AnonymousUser, what: str) -> None:
    """Raises `Forbidden` unless for admins.

    Args:
        what: that only they do, as in "only admins make teams".
    """
    if role_of(account) != "admin":
        raise Forbidden("admins-only", f"only admins {what}")


def refuse_non_operators(account: User | AnonymousUser, what: str) -> None:
    """Raises `Forbidden` unless for operators and admins.

    Args:
        what: that only they do, as in "only operators set quotas".
    """
    if not is_operator(account):
        raise Forbidden("operators-only", f"only operators {what}")


def is_service(account: User | AnonymousUser) -> bool:
    """True for an account that is not a person.

    A database query, once for each record of an account that was read without its `service_account`.
    """
    return hasattr(account, "service_account")


def is_operator(account: User | AnonymousUser) -> bool:
    return role_of(account) in ("operator", "admin")


def operators() -> QuerySet[Person]:
    """The active accounts that are operators, by name."""
    return persons().filter(role__in=("operator", "admin"), is_active=True)


def may_write(account: User | AnonymousUser) -> bool:
    """True for everybody who may have queries and streams of their own."""
    return role_of(account) not in (None, "viewer")


def refuse_viewers(account: User, what: str) -> None:
    """Raises `Forbidden` for an account that only reads."""
    if not may_write(account):
        raise Forbidden("viewers-only-read", f"{account.get_username()} is a viewer and may not {what}")


def may_edit(account: User | AnonymousUser, owner_id: int, team_id: int | None = None) -> bool:
    """True for the owner, for authors of the object's team, and for operators."""
    role = role_of(account)
    if role in (None, "viewer"):
        return False
    if role in ("operator", "admin") or account.pk == owner_id:
        return True
    return team_id is not None and Team.objects.filter(pk=team_id, members=account.pk).exists()


class Owned(Protocol):
    """A record that an account owns, and perhaps a team has."""

    @property
    def pk(self) -> int: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def team_id(self) -> int | None: ...


class Named(Owned, Protocol):
    """The same with a name, as a refusal tells it."""

    @property
    def name(self) -> str: ...
    @property
    def owner(self) -> User: ...
    @property
    def team(self) -> Team | None: ...


def refuse_others(account: User, record: Named, may: str = "may do that") -> None:
    """Raise `Forbidden` unless for owner, team authors and operators of the record."""
    if not may_edit(account, record.owner_id, record.team_id):
        team = "" if record.team is None else f", the team {record.team.name}"
        text = f"{record.owner} owns {record.name}; only its owner{team} or an operator {may}"
        raise Forbidden("not-yours", text)


def editable(account: User, records: Iterable[Owned]) -> set[int]:
    """The keys of those records that the account `may_edit`.

    What that takes is looked up once for all.
    """
    role = role_of(account)
    if role in (None, "viewer"):
        return set()
    if role in ("operator", "admin"):
        return {record.pk for record in records}
    teams = set(Team.objects.filter(members=account.pk).values_list("pk", flat=True))
    return {record.pk for record in records if record.owner_id == account.pk or record.team_id in teams}


def teams_of(account: User | AnonymousUser) -> list[str]:
    """The names of the account's teams."""
    if not account.is_authenticated:
        return []
    return list(Team.objects.filter(members=account.pk).values_list("name", flat=True))
