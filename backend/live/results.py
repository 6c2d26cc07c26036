"""The newest results of a query, as the job keeps them in Redis."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from backend.catalog.models import Query, QueryVersion
from backend.redis import connection, read_entries
from backend.topologies.models import Topology
from backend.topologies.query_search import deployment_of
from jobs.protocol import appended_key, results_key


@dataclass(frozen=True, slots=True)
class Results:
    """The newest results of a query, newest first."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, object], ...]
    ids: tuple[str, ...]
    batches: tuple[int, ...]


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


def forget_results(query: str) -> None:
    """Delete what Redis keeps of a query's results for pages that watch."""
    tails = [results_key(topology, query) for topology in Topology.objects.values_list("name", flat=True)]
    if tails:
        connection().delete(*tails, *(appended_key(tail) for tail in tails))
