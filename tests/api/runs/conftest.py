from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest
import redis
from django.utils import timezone
from pytest_django import Settings

from backend.runs import process, supervision
from backend.topologies.models import Run, Topology
from jobs.protocol import events_key

PATIENCE_S = 600.0
"""For what real processes do on a busy machine."""
JOB = Path(__file__).with_name("job_process.py")


@pytest.fixture
def job(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Launched jobs are tests' processes; called with a fault, they have it."""
    settings.MILLRACE_JOB_COMMAND = [sys.executable, str(JOB)]
    monkeypatch.setenv("PYTHONPATH", str(settings.BASE_DIR))

    def fault(name: str) -> None:
        monkeypatch.setenv("MILLRACE_TEST_JOB", name)

    fault("")
    return fault


class Supervised:
    """A topology under supervision whose clock the test owns; events are waited for in Redis."""

    def __init__(self, topology: Topology, bus: redis.Redis, now: datetime) -> None:
        self._topology = topology
        self._bus = bus
        self._seen = "0-0"
        self.now = now

    def look(self, seconds: float = 0) -> Topology:
        """One round of the supervisor, so much later."""
        self.now += timedelta(seconds=seconds)
        supervision.reconcile(self._topology.pk, self.now)
        return self.topology

    @property
    def topology(self) -> Topology:
        return Topology.objects.select_related("current_run", "plan", "active_plan").get(pk=self._topology.pk)

    @property
    def run(self) -> Run:
        run = self.topology.current_run
        assert run is not None
        return run

    def hear(self, *kinds: str) -> None:
        """Wait until the job has said these, in this order, since the last call."""
        wanted = list(kinds)
        deadline = monotonic() + PATIENCE_S
        while wanted:
            assert monotonic() < deadline, f"not heard: {wanted}"
            reply = self._bus.xread({events_key(self._topology.name): self._seen}, block=1000, count=1)
            for _, entries in reply or ():
                for self._seen, fields in entries:
                    if f'"type":"{wanted[0]}"' in fields["message"]:
                        wanted.pop(0)
        # The job goes by the wall's clock: what it has said is not in the future of this one.
        self.now = max(self.now, timezone.now())


@pytest.fixture
def supervised(topology: Topology, bus: redis.Redis, job: Callable[[str], None]) -> Iterator[Supervised]:
    yield Supervised(topology, bus, timezone.now())
    # What a failed test leaves behind would disturb those behind it.
    for run in topology.runs.filter(pid__isnull=False):
        process.end(run)
