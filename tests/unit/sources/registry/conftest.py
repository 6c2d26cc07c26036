from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.sources.registry.client import Schemas
from jobs.sources.registry.deployment import Registry
from tests.registry.stand_in import StandIn


@pytest.fixture
def registry() -> Iterator[StandIn]:
    server = StandIn().start()
    yield server
    server.stop()


@pytest.fixture
def schemas(registry: StandIn) -> Schemas:
    return Schemas(Registry(registry.url))
