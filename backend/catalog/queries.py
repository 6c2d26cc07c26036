"""Finding queries, and their newest results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from django.contrib.auth.models import User
from django.db.models import Prefetch, Q, QuerySet

from backend.bus import connection, read_entries
from backend.catalog.models import Query, QueryVersion
from backend.topologies.models import TopologyQuery
from backend.topologies.status import query_status
from jobs.protocol import results_key


def deployment_of(record: Query) -> TopologyQuery | None:
    return cast("TopologyQuery | None", getattr(record, "deployment", None))


def queries() -> QuerySet[Query]:
    """Every query with all that its API document needs, in a fixed number of database queries."""
    return (
        Query.objects.exclude(current=None)
        .select_related(
            "owner",
            "team",
            "current",
            "deployment__version",
            "deployment__topology__active_plan",
            "deployment__topology__current_run",
            "deployment__light__newest__topology",
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
    """Queries that match every part of the text: words, and `stream: owner: team: tag: status: name:
    is:favourite` filters; `owner:me` is the account that asks."""
    found = queries()
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


@dataclass(frozen=True, slots=True)
class Results:
    """The newest results of a query, newest first."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, object], ...]
    ids: tuple[str, ...]
    batches: tuple[int, ...]


def favourites(account_id: int) -> set[int]:
    """The ids of an account's favourite queries."""
    return set(Query.objects.filter(favourite_of=account_id).values_list("pk", flat=True))


def newest_results(record: Query, limit: int) -> Results:
    """The tail that the job keeps in Redis; empty for a query that is not deployed."""
    deployment = deployment_of(record)
    version = cast(QueryVersion, record.current if deployment is None else deployment.version)
    columns = tuple((output.name, output.type) for output in version.outputs.all())
    if deployment is None:
        return Results(columns, (), (), ())
    entries = connection().xrevrange(results_key(deployment.topology.name, record.name), count=limit)
    rows, ids, batches = [], [], []
    for entry, fields in read_entries(entries):
        rows.append(json.loads(fields["json"], parse_constant=str))
        ids.append(entry)
        batches.append(int(fields["batch"]))
    return Results(columns, tuple(rows), tuple(ids), tuple(batches))
