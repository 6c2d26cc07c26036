"""Backup and restore, on a real server: what comes back is what was there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.faults.replays import ROWS, Replay
from tests.postgres.conftest import Server
from tests.runtime.linear import write_data, write_workload

ROOT = Path(__file__).resolve().parents[2]
OPERATE = ROOT / "docker" / "operate"


class Installation:
    """A database and a folder, and the scripts run on both."""

    def __init__(self, server: Server, database: str, home: Path) -> None:
        self.url = server.fresh(database)
        self.home = home
        self._environment = {
            **os.environ,
            "PATH": f"{server.binaries}:{os.environ['PATH']}",
            "DATABASE_URL": self.url,
            "MILLRACE_HOME": str(home),
            "REDIS_URL": "",
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )

    def rows(self) -> list[tuple[str, str]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()


@pytest.fixture
def old(postgres: Server, tmp_path: Path) -> Installation:
    """An installation with a database and one topology's checkpoint."""
    found = Installation(postgres, "old", tmp_path / "old")
    checkpoint = found.home / "topologies" / "flights" / "checkpoint"
    (checkpoint / "commits").mkdir(parents=True)
    (checkpoint / "commits" / "7.json").write_text('{"batch": 7}')
    (checkpoint / "scratch").mkdir()
    (checkpoint / "scratch" / "spark.log").write_text("nobody reads this")
    done = found.run(sys.executable, "manage.py", "migrate", "--verbosity", "0")
    assert done.returncode == 0, done.stderr
    return found


def test_what_comes_back_is_what_was_there(old: Installation, postgres: Server, tmp_path: Path) -> None:
    folder = str(tmp_path / "saved")
    done = old.run(str(OPERATE / "backup"), folder)
    assert done.returncode == 0, done.stderr
    again = old.run(str(OPERATE / "backup"), folder)
    assert (again.returncode, "not there yet" in again.stderr) == (2, True)
    assert [path.name for path in tmp_path.glob("*.partial")] == []

    new = Installation(postgres, "new", tmp_path / "new")
    done = new.run(str(OPERATE / "restore"), folder)
    assert done.returncode == 0, done.stderr
    assert new.rows() == old.rows()
    checkpoint = new.home / "topologies" / "flights" / "checkpoint"
    assert (checkpoint / "commits" / "7.json").read_text() == '{"batch": 7}'
    assert not (checkpoint / "scratch").exists()

    # Nothing is overwritten, neither folder nor database.
    refused = new.run(str(OPERATE / "restore"), folder)
    assert (refused.returncode, "move it away" in refused.stderr) == (2, True)
    (new.home / "topologies").rename(new.home / "away")
    refused = new.run(str(OPERATE / "restore"), folder)
    assert (refused.returncode, "expected an empty one" in refused.stderr) == (2, True)

    damaged = Path(folder) / "topologies.tar"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    refused = new.run(str(OPERATE / "restore"), folder)
    assert (refused.returncode, "is damaged" in refused.stderr) == (2, True)


def test_a_restored_topology_goes_on_where_it_was_saved(
    old: Installation, postgres: Server, tmp_path: Path
) -> None:
    """Its checkpoint works in another folder: the results are those of a run that nothing interrupted."""
    workload, data = write_workload(tmp_path / "workload"), write_data(tmp_path / "data", ROWS)
    saved = Replay(workload, data, old.home / "topologies" / "linear", "--batch-rows", "4500")
    assert saved.run_until(2)
    assert saved.process is not None
    saved.process.kill()
    saved.process.communicate()
    done = old.run(str(OPERATE / "backup"), str(tmp_path / "saved"))
    assert done.returncode == 0, done.stderr

    new = Installation(postgres, "elsewhere", tmp_path / "elsewhere")
    done = new.run(str(OPERATE / "restore"), str(tmp_path / "saved"))
    assert done.returncode == 0, done.stderr
    restored = Replay(workload, data, new.home / "topologies" / "linear", "--batch-rows", "4500")
    assert restored.committed() >= 2
    restored.finish()


def test_a_backup_that_fails_leaves_nothing(postgres: Server, tmp_path: Path) -> None:
    gone = Installation(postgres, "gone", tmp_path / "gone")
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE gone")
    done = gone.run(str(OPERATE / "backup"), str(tmp_path / "saved"))
    assert done.returncode != 0
    assert list(tmp_path.glob("saved*")) == []
