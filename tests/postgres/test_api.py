"""The whole API suite, on PostgreSQL instead of SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.postgres.conftest import Server

ROOT = Path(__file__).resolve().parents[2]


def test_the_api_suite_passes_on_postgresql(postgres: Server, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": postgres.fresh("api"), "MILLRACE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/api", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
