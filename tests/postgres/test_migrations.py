"""Every migration forward and back, and the models as migrations leave them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.postgres.conftest import Server

ROOT = Path(__file__).resolve().parents[2]
OURS = ("tokens", "live", "topologies", "catalog", "streams", "accounts")
"""In the order in which they can go: each builds on those after it."""


def _tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in rows}


def test_forward_back_and_forward_again(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("migrations")
    environment = {**os.environ, "DATABASE_URL": url, "MILLRACE_HOME": str(tmp_path), "REDIS_URL": ""}

    def manage(*words: str) -> None:
        command = [sys.executable, "manage.py", *words, "--verbosity", "0"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    manage("migrate", "--noinput")
    manage("makemigrations", "--check", "--dry-run")
    first = _tables(url)
    assert {"streams_stream", "catalog_query", "topologies_topology"} <= first
    for app in OURS:
        manage("migrate", app, "zero", "--noinput")
    assert not {name for name in _tables(url) if name.split("_")[0] in OURS}
    manage("migrate", "--noinput")
    assert _tables(url) == first
