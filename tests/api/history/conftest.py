"""A topology of which a job tells."""

from __future__ import annotations

import pytest

from backend.topologies.models import Topology


@pytest.fixture
def flights(db: None) -> Topology:
    return Topology.objects.create(name="flights")
