"""Quotas, so that one account cannot fill the registry or the machine for all.

A limit is the account's own (`accounts.Quota`), else the most that one of its teams has, else the
installation's (MILLRACE_QUOTA_...). Operators, who raise limits, have none. What counts for an account is
what it made: giving a query away frees no place and takes none of the new owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet

from backend.accounts.models import Quota, Team
from backend.accounts.queries import is_operator, operators, refuse_non_operators
from backend.accounts.recording import about, about_team
from backend.audit.actions import record
from backend.audit.changes import changed
from backend.errors import Conflict

_NAMED = 3
"""Operators that a refusal names."""


class Resource(StrEnum):
    TOPOLOGIES = "topologies"
    STREAMS = "streams"
    QUERIES = "queries"
    VERSIONS = "versions"
    ALERTS = "alerts"
    TOKENS = "tokens"


_ADVICE = {
    Resource.TOPOLOGIES: "deploy to one that runs, or undeploy what is no longer wanted",
    Resource.STREAMS: "delete one",
    Resource.QUERIES: "delete one",
    Resource.VERSIONS: "save the text as another query",
    Resource.ALERTS: "delete one",
    Resource.TOKENS: "revoke one",
}


@dataclass(frozen=True, slots=True)
class Use:
    resource: Resource
    used: int
    limit: int | None
    """None for operators."""


_COUNTED: dict[Resource, Callable[[int], QuerySet[Model]]] = {}
"""What counts by account; versions count by query."""


def count(resource: Resource, held: Callable[[int], QuerySet[Model]]) -> None:
    """Count what `held` finds as an account's share of a resource.

    The room that keeps the resource calls this.
    """
    _COUNTED[resource] = held


def uses(account: User) -> list[Use]:
    """What the account has of everything that is counted by account."""
    limits: Mapping[Resource, int | None]
    limits = dict.fromkeys(Resource) if is_operator(account) else quotas_of(account.pk)
    return [
        Use(resource, _COUNTED[resource](account.pk).count(), limits[resource])
        for resource in Resource
        if resource in _COUNTED
    ]


def claim(
    account: User, resource: Resource, held: QuerySet[Model] | None = None, whose: str | None = None
) -> None:
    """Let the account have one more, to be made in the caller's transaction.

    Of several requests at once each waits here for the one before it, so that all count what is there.

    Args:
        account: whose limit it is.
        resource: of what there is to be one more.
        held: what counts; all that the account has of the resource if it is None.
        whose: who or what has them, for the refusal; the account if it is None.

    Raises:
        Conflict: there are as many as there may be.
    """
    if is_operator(account):
        return
    _one_at_a_time(account.pk)
    used = (_COUNTED[resource](account.pk) if held is None else held).count()
    _refuse(account, resource, used, account.get_username() if whose is None else whose)


def _one_at_a_time(account_id: int) -> None:
    # SQLite has one writer at a time anyway, from the transaction's beginning (settings.DATABASES).
    list(get_user_model().objects.select_for_update(no_key=True).filter(pk=account_id).values_list("pk"))


def _refuse(account: User, resource: Resource, used: int, whose: str) -> None:
    limit = quotas_of(account.pk)[resource]
    if used >= limit:
        raise Conflict(
            f"too-many-{resource}",
            f"{whose} has {used} of {limit} {resource}; {_ADVICE[resource]}, or ask {_operators()} for more "
            f"(MILLRACE_QUOTA_{resource.upper()}, or a quota on Accounts)",
        )


def quotas_of(account_id: int) -> dict[Resource, int]:
    """How much the account may have of each resource."""
    own = Quota.objects.filter(account=account_id).first()
    teams = list(Quota.objects.filter(team__members=account_id))
    found = {}
    for resource in Resource:
        given = None if own is None else cast("int | None", getattr(own, resource))
        if given is None:
            among = [value for team in teams if (value := getattr(team, resource)) is not None]
            given = max(among, default=None)
        found[resource] = (
            int(getattr(settings, f"MILLRACE_QUOTA_{resource.upper()}")) if given is None else given
        )
    return found


def given_to(whose: User | Team) -> dict[Resource, int | None]:
    """The limits that the account or the team itself was given.

    None is as everywhere else.
    """
    found = Quota.objects.filter(**_key(whose)).first()
    return {one: None if found is None else getattr(found, one) for one in Resource}


@transaction.atomic
def give(operator: User, whose: User | Team, limits: Mapping[Resource, int | None]) -> None:
    """Let an account, or each member of a team, have so much.

    Args:
        limits: None is as everywhere else; what is left out stays.

    Raises `Forbidden` unless for operators.
    """
    refuse_non_operators(operator, "set quotas")
    before = given_to(whose)
    after = {**before, **limits}
    if any(limit is not None for limit in after.values()):
        Quota.objects.update_or_create(**_key(whose), defaults={str(name): n for name, n in after.items()})
    else:
        Quota.objects.filter(**_key(whose)).delete()
    if changes := changed(_told(before), _told(after)):
        subject = about_team(whose) if isinstance(whose, Team) else about(whose)
        record(operator, "change", subject, changes=changes)


def _key(whose: User | Team) -> dict[str, Any]:
    return {"team" if isinstance(whose, Team) else "account": whose}


def _told(limits: Mapping[Resource, int | None]) -> dict[str, object]:
    return {f"quota of {name}": limit for name, limit in limits.items()}


def _operators() -> str:
    names = list(operators().values_list("username", flat=True)[:_NAMED])
    return f"an operator ({', '.join(names)})" if names else "an operator"
