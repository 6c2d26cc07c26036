"""How much of everything one account may have, so that nobody fills the registry or the machine for all.

A limit is the account's own (`accounts.Quota`), else the most that one of its teams has, else the
installation's (MILLRACE_QUOTA_...). Operators, who raise limits, have none. What counts for an account is
what it made: giving a query away frees no place and takes none of the new owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import Model, OuterRef, QuerySet, Subquery

from backend.accounts.models import Quota
from backend.accounts.queries import is_operator, operators
from backend.alerts.models import AlertRule
from backend.catalog.models import Query, QueryVersion
from backend.errors import Conflict
from backend.streams.models import Stream
from backend.tokens.models import Token
from backend.topologies.models import AuditEntry, Topology

EMPTIED = 10
"""Topologies without a query that an account may leave behind, in multiples of those with one."""
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


def uses(account: User) -> list[Use]:
    """What the account has of everything that is counted by account."""
    limits: Mapping[Resource, int | None]
    limits = dict.fromkeys(Resource) if is_operator(account) else _limits(account.pk)
    return [
        Use(resource, counted(account.pk).count(), limits[resource]) for resource, counted in _COUNTED.items()
    ]


def claim(account: User, resource: Resource) -> None:
    """Let the account have one more, to be made in the caller's transaction.

    Of several requests at once each waits here for the one before it, so that all count what is there.
    Raises `Conflict` if the account has as many as it may.
    """
    if is_operator(account):
        return
    _one_at_a_time(account.pk)
    _refuse(account, resource, _COUNTED[resource](account.pk).count(), account.get_username())


def claim_version(account: User, query: Query) -> None:
    """As `claim`, for another version of a query."""
    if is_operator(account):
        return
    _one_at_a_time(account.pk)
    _refuse(account, Resource.VERSIONS, query.versions.count(), query.name)


def claim_topology(account: User, query: Query, target: Topology, is_new: bool) -> None:
    """As `claim`, for a query that `account` is about to deploy on `target`; counts for the query's maker.

    A topology that answers something already runs anyway, whoever is answered by it.
    """
    if is_operator(account) or target.deployed.exists():
        return
    maker = maker_of(query)
    claim(maker, Resource.TOPOLOGIES)
    limit = _limits(account.pk)[Resource.TOPOLOGIES]
    if is_new and _emptied_by(account.pk) >= EMPTIED * limit:
        raise Conflict(
            "too-many-topologies",
            f"{account.get_username()} left {EMPTIED * limit} topologies without a query; "
            "deploy to one of them",
        )


def maker_of(query: Query) -> User:
    """Whose first version it is, whoever owns it now."""
    first = QueryVersion.objects.select_related("created_by").filter(query=query).order_by("number").first()
    return query.owner if first is None else first.created_by


def queries_of(account_id: int) -> QuerySet[Query]:
    """The queries that the account made."""
    return Query.objects.filter(versions__number=1, versions__created_by=account_id)


def topologies_of(account_id: int) -> QuerySet[Topology]:
    """The topologies that answer one of them."""
    return Topology.objects.filter(deployed__query__in=queries_of(account_id)).distinct()


_COUNTED: dict[Resource, Callable[[int], QuerySet[Model]]] = {
    Resource.TOPOLOGIES: topologies_of,
    Resource.STREAMS: lambda account_id: Stream.objects.filter(owner_id=account_id),
    Resource.QUERIES: queries_of,
    Resource.ALERTS: lambda account_id: AlertRule.objects.filter(owner_id=account_id),
    Resource.TOKENS: lambda account_id: Token.objects.filter(owner_id=account_id),
}
"""What counts by account; versions count by query."""


def _emptied_by(account_id: int) -> int:
    """How many topologies answer nothing whose first query the account deployed."""
    first = AuditEntry.objects.filter(topology=OuterRef("pk"), action="deploy").order_by("pk")
    emptied = Topology.objects.filter(deployed=None).annotate(by=Subquery(first.values("account_id")[:1]))
    return emptied.filter(by=account_id).count()


def _one_at_a_time(account_id: int) -> None:
    # SQLite has one writer at a time anyway, from the transaction's beginning (settings.DATABASES).
    list(get_user_model().objects.select_for_update(no_key=True).filter(pk=account_id).values_list("pk"))


def _refuse(account: User, resource: Resource, used: int, whose: str) -> None:
    limit = _limits(account.pk)[resource]
    if used >= limit:
        raise Conflict(
            f"too-many-{resource}",
            f"{whose} has {used} of {limit} {resource}; {_ADVICE[resource]}, or ask {_operators()} for more "
            f"(MILLRACE_QUOTA_{resource.upper()}, or a quota in the admin)",
        )


def _limits(account_id: int) -> dict[Resource, int]:
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


def _operators() -> str:
    names = list(operators().values_list("username", flat=True)[:_NAMED])
    return f"an operator ({', '.join(names)})" if names else "an operator"
