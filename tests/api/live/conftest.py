"""A topology to listen to, and nobody who listens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backend.live.sse import hub as hubs
from backend.live.sse.connection_limits import SLOTS
from backend.topologies.models import Topology
from tests.api.live.listening import is_idle


@pytest.fixture
def flights(db: None) -> Topology:
    """The topology whose events are heard."""
    return Topology.objects.create(name="flights", planner={"method": "greedy"}, job={"trigger_ms": 500})


@pytest.fixture
def _nobody_listens() -> Iterator[None]:
    """Before and behind every test: places of other tests' dropped answers lapse."""
    SLOTS._held.clear()
    yield
    assert not hubs._HUBS or all(map(is_idle, hubs._HUBS.values()))
