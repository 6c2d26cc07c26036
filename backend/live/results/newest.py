"""The newest results of a query, as the job keeps them in Redis."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backend.catalog.models import Query, QueryVersion
from backend.redis import connection, read_entries
from backend.topologies.models import Topology
from backend.topologies.query_search import deployment_of
from jobs.protocol import appended_key, results_key, table_keys


@dataclass(frozen=True, slots=True)
class Table:
    """What is known of the current table of running groups."""

    rows: int
    """That are kept, those that changed last."""
    whole: bool
    """True if that is every row."""
    batch: int
    """Behind which it is so: later ones, if any, changed nothing, or are on their way."""
    counted_from: datetime | None
    """The event time from which on combinations are counted; None if all are."""


@dataclass(frozen=True, slots=True)
class Results:
    """The newest results of a query, newest first, or the rows of its table."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, object], ...]
    ids: tuple[str, ...]
    batches: tuple[int, ...]
    table: Table | None = None
    """Of running groups."""


def newest_results(record: Query, limit: int, until: int | None = None) -> Results:
    """The tail or the table that the job keeps in Redis.

    Empty for a query that is not deployed. A table is always the current one.

    Args:
        record: the query.
        limit: how many rows at most.
        until: the last batch whose results are wanted; None is the newest.
    """
    deployment = deployment_of(record)
    version = cast(QueryVersion, record.current if deployment is None else deployment.version)
    columns = tuple((output.name, output.type) for output in version.outputs.all())
    if deployment is None:
        return Results(columns, (), (), ())
    table = _current_table(deployment.topology.name, record.name, columns, limit)
    if table is not None:
        return table
    # How many are newer than a batch of then only the tail itself says.
    count = limit if until is None else None
    entries = read_entries(
        connection().xrevrange(results_key(deployment.topology.name, record.name), count=count)
    )
    kept = [one for one in entries if until is None or int(one[1]["batch"]) <= until][:limit]
    return Results(
        columns,
        tuple(json.loads(fields["json"], parse_constant=str) for _, fields in kept),
        tuple(entry for entry, _ in kept),
        tuple(int(fields["batch"]) for _, fields in kept),
    )


def _current_table(
    topology: str, query: str, columns: tuple[tuple[str, str], ...], limit: int
) -> Results | None:
    """The rows of running groups that changed last.

    None for a query whose results stay.
    """
    keys = table_keys(topology, query)
    rows, order, state = keys
    whole, batch, since = cast(list[str | None], connection().hmget(state, ["whole", "batch", "from"]))
    if whole is None or batch is None:
        return None
    newest = cast(list[tuple[str, float]], connection().zrevrange(order, 0, limit - 1, withscores=True))
    found = connection().hmget(rows, [key for key, _ in newest]) if newest else []
    # A row that leaves between the two questions is gone.
    there = [(key, number, row) for (key, number), row in zip(newest, found, strict=True) if row is not None]
    return Results(
        columns,
        tuple(json.loads(row, parse_constant=str) for _, _, row in there),
        # As those of results are, which tell what is newer.
        tuple(f"{int(number)}-{int(key, 16)}" for key, number, _ in there),
        tuple(int(number) for _, number, _ in there),
        Table(
            connection().zcard(order),
            whole == "1",
            int(batch),
            datetime.fromisoformat(since) if since else None,
        ),
    )


def forget_results(query: str) -> None:
    """Delete what Redis keeps of a query's results for pages that watch."""
    kept: list[str] = []
    for topology in Topology.objects.values_list("name", flat=True):
        tail = results_key(topology, query)
        kept += [tail, appended_key(tail), *table_keys(topology, query)]
    if kept:
        connection().delete(*kept)
