"""Finding queries, and their newest results."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Prefetch, Q, QuerySet

from backend.catalog.models import Query
from backend.catalog.queries import readable_queries
from backend.topologies.models import TopologyQuery
from backend.topologies.status import query_status


def deployment_of(record: Query) -> TopologyQuery | None:
    return cast("TopologyQuery | None", getattr(record, "deployment", None))


def queries(account: User | AnonymousUser) -> QuerySet[Query]:
    """The queries that the account reads.

    With what their API documents need, in a fixed number of database queries.
    """
    return (
        readable_queries(account)
        .exclude(current=None)
        .select_related(
            "owner__service_account",
            "team",
            "current",
            "deployment__version",
            "deployment__topology__active_plan",
            "deployment__topology__current_run",
            "deployment__light__newest__topology",
            "applied__by__service_account",
        )
        .prefetch_related(
            "tags",
            Prefetch("current__inputs"),
            Prefetch("current__inputs__stream"),
            Prefetch("current__outputs"),
        )
    )


_LOOKUPS = {
    "stream": "current__inputs__stream__name__iexact",
    "owner": "owner__username__iexact",
    "team": "team__name__iexact",
    "tag": "tags__name__iexact",
    "name": "name__icontains",
}


def search(text: str, account: User) -> list[Query]:
    """Queries that match every part of the text.

    Parts are words, and `stream: owner: team: tag: status: name: is:favourite` filters; `owner:me` is the
    account that asks.
    """
    found = queries(account)
    status: str | None = None
    for part in text.split():
        key, colon, value = part.partition(":")
        if not colon or not value:
            found = found.filter(
                Q(name__icontains=part)
                | Q(description__icontains=part)
                | Q(current__sql__icontains=part)
                | Q(tags__name__icontains=part)
            )
        elif part == "owner:me":
            found = found.filter(owner_id=account.pk)
        elif part == "is:favourite":
            found = found.filter(favourite_of=account.pk)
        elif key == "status":
            status = value
        elif key in _LOOKUPS:
            found = found.filter(**{_LOOKUPS[key]: value})
        else:
            found = found.filter(current__sql__icontains=part)
    records = list(found.distinct())
    if status is not None:
        records = [record for record in records if query_status(deployment_of(record)) == status]
    return records


def favourites(account_id: int) -> set[int]:
    """The ids of an account's favourite queries."""
    return set(Query.objects.filter(favourite_of=account_id).values_list("pk", flat=True))
