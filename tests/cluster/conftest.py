from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import Standalone
from tests.faults.replays import ROWS
from tests.runtime.linear import write_data, write_workload


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_workload(tmp_path_factory.mktemp("cluster") / "workload")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("cluster-data"), ROWS)


@pytest.fixture(scope="session")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """For tests that leave the cluster as it is."""
    with Standalone(tmp_path_factory.mktemp("two-workers") / "cluster", 2) as cluster:
        yield cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    """Two workers, to be broken."""
    with Standalone(tmp_path / "cluster", 2) as cluster:
        yield cluster
