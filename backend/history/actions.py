"""Taking what jobs tell into the periods of their topologies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from backend.history.measures import MEASURES, Measures, merged
from backend.history.models import HistoryCursor, HistoryPeriod
from backend.history.progress import Progress, followed
from backend.history.resolutions import KEPT, oldest_kept, period_start, whole_seconds
from backend.live.queries import START, events_after, last_generated
from backend.topologies.models import Topology
from jobs.protocol import AnyEvent, entry_order

Key = tuple[timedelta, datetime]
"""A period of a topology: its length and its start."""


def take_in(topology: Topology) -> None:
    """Add each event not taken in yet to its periods, once among many workers.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    cursor, _ = HistoryCursor.objects.get_or_create(topology=topology)
    if entry_order(cursor.last_event_id) > entry_order(last_generated(topology.name)):
        # Redis came back empty; batches that it tells again are known by their numbers.
        _at(cursor).update(last_event_id=START)
        cursor.refresh_from_db()
    while events := events_after(topology.name, cursor.last_event_id):
        count(topology, cursor, events)
        cursor.refresh_from_db()


def count(topology: Topology, cursor: HistoryCursor, events: Sequence[tuple[str, AnyEvent | None]]) -> bool:
    """Add the events behind a cursor to their periods.

    Returns: false if another worker has moved the cursor since it was read; nothing is changed then.
    """
    with transaction.atomic():
        # The claim comes first: whoever moves the cursor counts the events behind it.
        if not _at(cursor).update(last_event_id=events[-1][0]):
            return False
        told = (event for _, event in events if event is not None)
        progress, found = _folded(_progress(cursor), told)
        HistoryCursor.objects.filter(pk=cursor.pk).update(**asdict(progress))
        _add(topology, found)
    return True


def prune(now: datetime) -> None:
    """Delete periods of each length that are older than is kept of it."""
    for resolution in KEPT:
        HistoryPeriod.objects.filter(
            resolution=whole_seconds(resolution), start__lt=oldest_kept(resolution, now)
        ).delete()


def _at(cursor: HistoryCursor) -> QuerySet[HistoryCursor]:
    """The cursor, unless another worker has moved it."""
    return HistoryCursor.objects.filter(pk=cursor.pk, last_event_id=cursor.last_event_id)


def _progress(cursor: HistoryCursor) -> Progress:
    return Progress(**{field.name: getattr(cursor, field.name) for field in fields(Progress)})


def _folded(progress: Progress, events: Iterable[AnyEvent]) -> tuple[Progress, dict[Key, Measures]]:
    """How far it is after the events, and what they add to periods of all lengths."""
    found: dict[Key, Measures] = {}
    for event in events:
        progress, measures = followed(progress, event)
        if measures is None:
            continue
        for resolution in KEPT:
            key = (resolution, period_start(event.at, resolution))
            found[key] = merged(found.get(key, Measures()), measures)
    return progress, found


def _add(topology: Topology, found: dict[Key, Measures]) -> None:
    """Merge what was found into what is stored."""
    # No other worker writes these meanwhile: the topology's cursor was claimed.
    starts = {start for _, start in found}
    rows = HistoryPeriod.objects.filter(topology=topology, start__in=starts)
    before = {(timedelta(seconds=row.resolution), row.start): row.measures for row in rows}
    HistoryPeriod.objects.bulk_create(
        (
            HistoryPeriod(
                topology=topology,
                resolution=whole_seconds(resolution),
                start=start,
                **asdict(merged(before.get((resolution, start), Measures()), measures)),
            )
            for (resolution, start), measures in found.items()
        ),
        update_conflicts=True,
        unique_fields=("topology", "resolution", "start"),
        update_fields=MEASURES,
    )
