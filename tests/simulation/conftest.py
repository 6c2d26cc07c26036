"""How many fresh schedules a run tries."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--schedules", type=int, default=100, help="fresh schedules to try (default: 100)")
