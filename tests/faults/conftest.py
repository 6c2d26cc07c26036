from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.replays import ROWS
from tests.runtime.linear import write_data, write_workload


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_workload(tmp_path_factory.mktemp("faults") / "workload")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("faults-data"), ROWS)
