"""Every migration forward and back, and the models as migrations leave them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.postgres.conftest import Server

ROOT = Path(__file__).resolve().parents[2]
OURS = ("alerts", "tokens", "live", "topologies", "audit", "catalog", "streams", "accounts")
"""In the order in which they can go: each builds on those after it."""

_SUSPENDED = """
WITH account AS (
  INSERT INTO auth_user (username, password, is_superuser, first_name, last_name, email, is_staff, is_active,
    date_joined)
  VALUES ('ann', '', false, '', '', '', false, true, now()) RETURNING id
), rule AS (
  INSERT INTO alerts_alertrule (name, channel, target, secret, on_failed, enabled, owner_id, created_at)
  SELECT 'night', 'email', 'a@example.org', '', true, true, id, now() FROM account RETURNING id
)
INSERT INTO alerts_alert (rule_id, kind, detail, opened_at) SELECT id, 'suspended', '', now() FROM rule
"""


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
    # What only the new release knows does not keep the old one from coming back.
    with psycopg.connect(url) as connection:
        connection.execute(_SUSPENDED)
    manage("migrate", "alerts", "0001", "--noinput")
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM alerts_alert").fetchone() == (0,)
    manage("migrate", "alerts", "--noinput")
    assert {"streams_stream", "catalog_query", "topologies_topology"} <= first
    for app in OURS:
        manage("migrate", app, "zero", "--noinput")
    assert not {name for name in _tables(url) if name.split("_")[0] in OURS}
    manage("migrate", "--noinput")
    assert _tables(url) == first
