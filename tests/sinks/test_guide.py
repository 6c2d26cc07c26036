"""The commands of docs/guide/sinks.md, as they stand there, with real topologies, PostgreSQL and Iceberg."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest
import redis

from jobs.protocol import EVENTS, Stop, control_key, events_key
from tests.api.guide import BLOCK
from tests.postgres.conftest import Server
from tests.runtime.live import PATIENCE_S, ROOT, RedisServer
from tests.sinks.receiver import GUIDE

TOPOLOGY = "try"


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop()


def section(heading: str) -> str:
    """What stands below a heading, up to the next one."""
    _, found, rest = GUIDE.read_text().partition(f"# {heading}\n")
    assert found, heading
    return re.split(r"^##+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def blocks(heading: str, kind: str) -> list[str]:
    return [one["text"] for one in BLOCK.finditer(section(heading)) if one["kind"] == kind]


def follow(heading: str, folder: Path, server: RedisServer, more: Mapping[str, str]) -> str:
    """Do in one shell what the guide says, and stop its topology once it has told of results.

    Returns what the last of the commands printed.
    """
    for one in BLOCK.finditer(section("Try it")):
        if one["file"]:
            path = folder / one["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one["text"])
    (folder / ".venv").symlink_to(sys.prefix)
    *before, reading = [*blocks("Try it", "sh"), *blocks(heading, "sh")]
    script = "\n".join(["set -euo pipefail", *before, "exec > printed", reading])
    environment = {
        **os.environ,
        **more,
        "REDIS_URL": f"redis://127.0.0.1:{server.port}",
        "PYTHONPATH": str(ROOT),
    }
    with (folder / "log").open("wb") as log:
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        drain_behind_results(server, shell)
        code = shell.wait(PATIENCE_S)
    finally:
        end(shell, folder)
    assert code == 0, (folder / "log").read_text()[-4000:]
    return (folder / "printed").read_text()


def drain_behind_results(server: RedisServer, shell: subprocess.Popen[bytes]) -> None:
    """Stop the topology behind results, in place of a person's Ctrl-C; until its end the sink has them."""
    client = redis.Redis(port=server.port)
    after, give_up_at = "0-0", time.monotonic() + PATIENCE_S
    while shell.poll() is None and time.monotonic() < give_up_at:
        for _, entries in client.xread({events_key(TOPOLOGY): after}, block=1000) or ():
            for entry, fields in entries:
                after = entry
                event = EVENTS.validate_json(fields[b"message"])
                if event.type == "batch" and any(query.results for query in event.queries.values()):
                    told = {"message": Stop(mode="drain").model_dump_json()}
                    client.xadd(control_key(TOPOLOGY), told)
                    return


def end(shell: subprocess.Popen[bytes], folder: Path) -> None:
    """End what a failed test left: the shell, and its job, which is in a session of its own."""
    if shell.poll() is None:
        for file in folder.glob("try/*/job.json"):
            os.kill(json.loads(file.read_text())["pid"], signal.SIGKILL)
        shell.kill()
        shell.wait()


def assert_prints(heading: str, printed: str) -> None:
    """`...` stands for any lines, or none; psql pads its lines, and ends with an empty one."""
    (expected,) = blocks(heading, "text")
    pattern = re.escape(expected.strip()).replace(re.escape("\n..."), "(\n.*)?")
    lines = (line.rstrip() for line in printed.splitlines())
    assert re.fullmatch(pattern, "\n".join(lines).strip(), re.DOTALL), printed


def test_results_arrive_in_postgresql(postgres: Server, redis_server: RedisServer, tmp_path: Path) -> None:
    # The server is that of all tests, and the guide's reader has no such database yet.
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS results WITH (FORCE)")
    more = {
        **{"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "millrace"},
        "PATH": f"{postgres.binaries}{os.pathsep}{os.environ['PATH']}",
    }
    assert_prints("Try PostgreSQL", follow("Try PostgreSQL", tmp_path, redis_server, more))


def test_results_arrive_in_iceberg(redis_server: RedisServer, tmp_path: Path) -> None:
    assert_prints("Try Iceberg", follow("Try Iceberg", tmp_path, redis_server, {}))
