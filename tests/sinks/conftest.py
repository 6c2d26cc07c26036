"""A PostgreSQL server and an Iceberg catalog of the tests' own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres.conftest import postgres  # noqa: F401  (a fixture of these tests too)


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, str]:
    """The environment that names an Iceberg catalog: SQLite beside a folder of files."""
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    return {
        "MILLRACE_ICEBERG_CATALOG": "lake",
        "PYICEBERG_CATALOG__LAKE__TYPE": "sql",
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{tmp_path / 'catalog.db'}",
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE": warehouse.as_uri(),
    }
