"""As tests/security/test_quotas.py, where several transactions write at once."""

from __future__ import annotations

from pathlib import Path

from tests.postgres.conftest import Server
from tests.security.test_quotas import RACED, race


def test_nobody_has_more_by_asking_at_once(postgres: Server, redis_url: str, tmp_path: Path) -> None:
    database = postgres.fresh("quotas")
    assert race({"DATABASE_URL": database, "MILLRACE_HOME": str(tmp_path), "REDIS_URL": redis_url}) == RACED
