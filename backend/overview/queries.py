"""Reading what the first page shows of all topologies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib.auth.models import User

from backend.catalog.models import Query
from backend.dead_letters.queries import Kept, kept_letters
from backend.live.queries import live_state
from backend.live.redaction import told_state
from backend.live.state import LiveState
from backend.redis import connection, read_entries
from backend.streams.queries import streams
from backend.topologies.models import Topology, TopologyQuery
from backend.topologies.queries import topologies
from backend.topologies.sight import Sight, sights_of
from jobs.protocol import entry_order, results_key

BATCHES = 60
"""Points of a sparkline; at the default trigger, half a minute or more."""
RESULTS = 12
"""Queries whose newest result is shown."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A topology as it is stored, and what it does."""

    topology: Topology
    live: LiveState
    sights: Mapping[int, Sight]
    """By topology."""


@dataclass(frozen=True, slots=True)
class NewestResult:
    """The newest result of a deployed query."""

    topology: str
    query: int
    name: str
    at: datetime | None
    """Wall time of its commit; None before the first result."""
    row: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Own:
    """How far an account has come: what there is to read, and what it made of it."""

    streams: int
    """Of all that the account reads."""
    queries: int
    deployed: int


@dataclass(frozen=True, slots=True)
class Overview:
    topologies: tuple[Watched, ...]
    """By name."""
    results: tuple[NewestResult, ...]
    """Of the first queries by topology and name, so that no row moves when results come."""
    dead_letters: tuple[Kept, ...]
    own: Own


def overview(account: User) -> Overview:
    """What all topologies do now.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    records = list(topologies(account))
    sights = sights_of(account, records)
    deployed = [
        one for record in records for one in record.deployed.all() if sights[record.pk].reads(one.query.name)
    ]
    read = {
        (one.topology.name, source.stream.name) for one in deployed for source in one.version.inputs.all()
    }
    return Overview(
        topologies=tuple(
            Watched(record, told_state(_newest_batches(live_state(record)), sights[record.pk]), sights)
            for record in records
        ),
        results=_newest_results(deployed[:RESULTS]),
        dead_letters=kept_letters(sorted(read)),
        own=Own(
            streams=streams(account).count(),
            queries=Query.objects.filter(owner=account).count(),
            deployed=TopologyQuery.objects.filter(query__owner=account).count(),
        ),
    )


def _newest_batches(state: LiveState) -> LiveState:
    """The state with the newest batches of its run only.

    Before a run's first batch the history is another run's.
    """
    history = () if state.batch is None else state.history[-BATCHES:]
    return state.model_copy(update={"history": history})


def _newest_results(deployed: Sequence[TopologyQuery]) -> tuple[NewestResult, ...]:
    pipeline = connection().pipeline(transaction=False)
    for one in deployed:
        pipeline.xrevrange(results_key(one.topology.name, one.query.name), count=1)
    found = []
    for one, answer in zip(deployed, pipeline.execute(), strict=True):
        entry, fields = next(iter(read_entries(answer)), (None, {}))
        found.append(
            NewestResult(
                topology=one.topology.name,
                query=one.query_id,
                name=one.query.name,
                at=None if entry is None else datetime.fromtimestamp(entry_order(entry)[0] / 1000, UTC),
                row=None if entry is None else json.loads(fields["json"], parse_constant=str),
            )
        )
    return tuple(found)
