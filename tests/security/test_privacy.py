"""Nobody else on the machine reads what the product writes, whatever umask it is started with."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from backend.privacy import is_open, keep_private

ROOT = Path(__file__).resolve().parents[2]
# What `make run` does to a home: lock, Redis with its log of changes, database, logs of parts, a job's files.
EVERYTHING = """
import os, sys, time
from pathlib import Path
from backend.run.setting import _locked, free_port
home = Path(sys.argv[1])
lock = _locked(home)
from backend.run.parts import Part
from backend.run import redis_server
import redis
port = free_port()
(home / "redis").mkdir(parents=True, exist_ok=True)
words = [redis_server.executable(), "--port", str(port), "--dir", str(home / "redis"),
         "--appendonly", "yes", "--unixsocket", str(home / "redis/socket"), "--save", "1 1"]
part = Part("redis", words, os.environ, home, home / "logs/redis.log")
client = redis.Redis(port=port)
for _ in range(600):
    try:
        client.ping()
        break
    except redis.ConnectionError:
        time.sleep(0.1)
client.set("x", "y")
client.bgrewriteaof()
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
User.objects.get_or_create(username="ann")
from backend.runs import process
from backend.topologies.models import Plan, Run, Topology
from django.conf import settings
settings.MILLRACE_JOB_COMMAND = [sys.executable, "-c", "import os, sys; open(os.environ['OUT'], 'w')"]
os.environ["OUT"] = str(home / "written-by-the-job")
settings.REDIS_URL = "redis://127.0.0.1:1/0"
run = Run(topology=Topology(name="flights", job={"trigger_ms": 10}), id="0" * 16)
process.launch(run, Plan(plan_id="p", graph="{}"))
deadline = time.monotonic() + 60
while not (home / "written-by-the-job").exists():
    assert time.monotonic() < deadline
    time.sleep(0.05)
seen = sorted(str(one.relative_to(home)) for one in home.rglob("*") if one.lstat().st_mode & 0o077)
names = {one.name for one in home.rglob("*")}
part.end()
print(oct(home.stat().st_mode & 0o777), seen, sorted(names))
"""


def _run(home: Path) -> str:
    environment = {**os.environ, "MILLRACE_HOME": str(home), "DJANGO_SETTINGS_MODULE": "backend.settings"}
    environment.pop("DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(home)],
        cwd=ROOT,
        env=environment,
        umask=0o022,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


WRITTEN = (
    "millrace.sqlite3",
    "millrace.sqlite3-wal",
    "secret_key",
    "socket",
    "redis.log",
    "lock",
    "checkpoint",
)


def test_all_that_is_written_is_the_accounts_alone(tmp_path: Path) -> None:
    said = _run(tmp_path / "home")
    assert said.startswith("0o700 [] "), said
    for name in WRITTEN:
        assert f"'{name}'" in said


def test_an_open_home_is_closed_with_all_that_is_in_it(tmp_path: Path) -> None:
    """As an earlier release left it."""
    home = tmp_path / "home"
    old = [
        home / name
        for name in ("secret_key", "redis/dump.rdb", "topologies/flights/checkpoint/commits/1.json")
    ]
    for file in old:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x" * 50)
        file.chmod(0o644)
    (home / "tool").write_text("#!/bin/sh\n")
    (home / "tool").chmod(0o755)
    outside = tmp_path / "outside"
    outside.write_text("somebody's")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    for folder in (home, *(one for one in home.rglob("*") if one.is_dir())):
        folder.chmod(0o755)
    keep_private(home)
    assert {stat.S_IMODE(file.stat().st_mode) for file in old} == {0o600}
    assert stat.S_IMODE((home / "tool").stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in home.rglob("*") if one.is_dir()} == {0o700}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert not is_open(home)


def test_the_database_of_an_earlier_release_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert _run(home).startswith("0o700 [] ")
    for path in (home, *home.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert _run(home).startswith("0o700 [] ")


def test_a_folder_of_everybodys_stays_so(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    keep_private(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


@pytest.fixture(autouse=True)
def _umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)
