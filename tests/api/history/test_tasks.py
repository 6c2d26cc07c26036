"""The periodic tasks: every topology is followed, whatever another one's fault is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.conf import settings

from backend.celery import app
from backend.history import tasks
from backend.history.models import HistoryPeriod
from backend.topologies.models import Topology
from jobs.protocol import events_key
from tests.api.history.told import batch, say


def test_workers_know_every_task_of_the_schedule() -> None:
    app.loader.import_default_modules()
    assert {one["task"] for one in settings.CELERY_BEAT_SCHEDULE.values()} <= app.tasks.keys()


def test_a_fault_of_one_topology_keeps_no_other_waiting(flights: Topology, bus: redis.Redis) -> None:
    Topology.objects.create(name="broken")
    bus.set(events_key("broken"), "no stream")
    say(bus, batch(0, 0))
    with pytest.raises(redis.ResponseError):
        tasks.take_in()
    assert HistoryPeriod.objects.get(resolution=60).batches == 1


def test_pruning_leaves_what_is_young(flights: Topology, bus: redis.Redis) -> None:
    now = datetime.now(UTC)
    for number, age in enumerate((timedelta(days=3), timedelta(0))):
        say(bus, batch(0, number).model_copy(update={"at": now - age}))
    tasks.take_in()
    tasks.prune()
    assert [HistoryPeriod.objects.filter(resolution=one).count() for one in (60, 600, 3600)] == [1, 2, 2]
