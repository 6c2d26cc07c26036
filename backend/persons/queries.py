"""Finding accounts of persons, and what admins are told of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from backend.accounts.models import Team
from backend.accounts.queries import Role, persons
from backend.accounts.reading import teams_known
from backend.second_factor.queries import factors_of

if TYPE_CHECKING:
    from backend.accounts.queries import Person as Account


@dataclass(frozen=True, slots=True)
class Wanted:
    """What accounts are looked for; what is None is not asked for."""

    text: str = ""
    """Words, each anywhere in name and address."""
    role: Role | None = None
    team: str | None = None
    """The name of a team that the account is in."""
    active: bool | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """An account, and what is said of it elsewhere."""

    account: User
    role: Role
    teams: tuple[str, ...]
    has_second_factor: bool
    by_provider: bool
    """Whether it signs in by the provider, and not by a password."""


@dataclass(frozen=True, slots=True)
class Page:
    persons: list[Person]
    """By name."""
    next: str | None
    """Behind which name the next page begins; None at the end."""


def page(reader: User, wanted: Wanted, after: str, limit: int) -> Page:
    """Up to `limit` accounts behind the name `after`, as the reader may know of them."""
    found = _accounts(reader, wanted).filter(username__gt=after)
    rows = list(found[: limit + 1])
    told = tell(reader, rows[:limit])
    return Page(told, rows[limit - 1].username if len(rows) > limit else None)


def tell(reader: User, accounts: list[Account]) -> list[Person]:
    """What is said to the reader of accounts.

    `backend.accounts.queries.persons` has found them.
    """
    keys = [account.pk for account in accounts]
    factors = factors_of(keys)
    by_provider = set(SocialAccount.objects.filter(user_id__in=keys).values_list("user_id", flat=True))
    teams: dict[int, list[str]] = {}
    links = Team.members.through._default_manager.filter(user_id__in=keys, team__in=teams_known(reader))
    for account, team in links.order_by("team__name").values_list("user_id", "team__name"):
        teams.setdefault(account, []).append(team)
    return [
        Person(
            account=account,
            role=account.role,
            teams=tuple(teams.get(account.pk, ())),
            has_second_factor=account.pk in factors,
            by_provider=account.pk in by_provider and not account.has_usable_password(),
        )
        for account in accounts
    ]


def _accounts(reader: User, wanted: Wanted) -> QuerySet[Account]:
    found = persons()
    for word in wanted.text.split():
        found = found.filter(Q(username__icontains=word) | Q(email__icontains=word))
    if wanted.role is not None:
        found = found.filter(role=wanted.role)
    if wanted.team is not None:
        found = found.filter(teams__in=teams_known(reader).filter(name=wanted.team))
    if wanted.active is not None:
        found = found.filter(is_active=wanted.active)
    return found
