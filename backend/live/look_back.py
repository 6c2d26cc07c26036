"""What a topology did when a past epoch ended.

As now, it is the fold of its events, of those up to then.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from pydantic import ValidationError

from backend.live.queries import folded, live_state, parse_event
from backend.live.state import BATCHES_KEPT, LiveState
from backend.redis import connection, read_entries
from backend.topologies.models import Topology
from jobs.protocol import AnyEvent, EpochCompleted, entry_order, events_key, statistics_key

log = logging.getLogger(__name__)

_FOLDED = 300
"""Events before the epoch's end that are folded: more batches than stores are followed for."""
_SOUGHT = 100
"""Entries among which the epoch's is sought: it is written with that of `statistics_key`, just before it."""


class _At(Protocol):
    @property
    def at(self) -> datetime: ...


_Point = TypeVar("_Point", bound=_At)


def state_then(topology: Topology, epoch: int) -> LiveState | None:
    """The state when an epoch had ended, as a snapshot of that moment had it.

    None once the job has told of `jobs.control_plane.channel.MOST_EPOCHS` newer epochs. Of an epoch that a
    continued job told twice it is the newer telling. If the events of then are gone, because a job idled
    for hours since, the batch is unknown (None) and the epoch's own counts are all there is.

    Raises `redis.exceptions.RedisError` if Redis is away.
    """
    found = _kept_epoch(topology.name, epoch)
    if found is None:
        return None
    entry, statistics = found
    then = folded(_without_events(statistics), _events_until(topology.name, entry, statistics))
    now = live_state(topology)
    begin = then.history[0].at if then.history else statistics.at
    return then.model_copy(
        update={
            "history": (*(one for one in now.history if one.at < begin), *then.history)[-BATCHES_KEPT:],
            "switches": _until(now.switches, statistics.at),
            "shapes": _until(now.shapes, statistics.at),
            "epochs": _until(now.epochs, statistics.at),
        }
    )


def _kept_epoch(topology: str, epoch: int) -> tuple[str, EpochCompleted] | None:
    for entry, fields in read_entries(connection().xrevrange(statistics_key(topology))):
        try:
            found = EpochCompleted.model_validate_json(fields.get("message", ""))
        except ValidationError as error:
            log.warning("topology %s: an epoch that cannot be read: %s", topology, error.errors()[0]["msg"])
            continue
        if found.epoch == epoch:
            return entry, found
    return None


def _without_events(statistics: EpochCompleted) -> LiveState:
    return LiveState(
        state="running",
        run=statistics.run,
        plan_id=statistics.plan_id,
        epoch=statistics.epoch,
        heartbeat_at=statistics.at,
        statistics=statistics,
    )


def _events_until(topology: str, entry: str, statistics: EpochCompleted) -> list[tuple[str, AnyEvent | None]]:
    """The epoch's event and its run's before it, oldest first; none if it is gone."""
    key, millisecond = events_key(topology), entry_order(entry)[0]
    for end, fields in read_entries(connection().xrevrange(key, max=str(millisecond), count=_SOUGHT)):
        if parse_event(end, fields) == statistics:
            break
    else:
        return []
    entries = read_entries(connection().xrevrange(key, max=end, count=_FOLDED))
    events = [(found, parse_event(found, fields)) for found, fields in reversed(entries)]
    return [one for one in events if one[1] is not None and one[1].run == statistics.run]


def _until(points: Sequence[_Point], moment: datetime) -> tuple[_Point, ...]:
    return tuple(one for one in points if one.at <= moment)
