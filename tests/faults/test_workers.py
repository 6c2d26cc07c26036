"""Celery workers that are killed in the middle of a task, or whose Redis is emptied: the work goes on, and
nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.linear import ROOT
from tests.runtime.live import RedisServer

LEFT = {
    "claimed": {"claimed": 1, "planned": 0, "pids": []},
    "created": {"claimed": 1, "planned": 1, "pids": [None]},
    "launched": {"claimed": 1, "planned": 1, "pids": [None]},
}
"""By the point at which the worker dies, what the database says then."""
Story = Callable[[str], dict[str, object]]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """What a story tells, in an installation of its own."""
    server = RedisServer(tmp_path)
    server.start()
    environment = {
        **os.environ,
        "REDIS_URL": f"redis://127.0.0.1:{server.port}/0",
        "MILLRACE_HOME": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'story.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "tests.faults.worker_settings",
        "PYTHONPATH": str(ROOT),
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            check=False,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    def tell(name: str) -> dict[str, object]:
        told: dict[str, object] = json.loads(run("-m", "tests.faults.worker_story", name).splitlines()[-1])
        return told

    run("manage.py", "migrate", "--verbosity", "0")
    yield tell
    server.stop()


@pytest.mark.parametrize(
    ("point", "states"),
    [("claimed", ["running"]), ("created", ["failed", "running"]), ("launched", ["running"])],
)
def test_another_worker_takes_over(point: str, states: list[str], story: Story) -> None:
    """A process that its launcher could not write down is found and goes on."""
    assert story(point) == {"died": True, **LEFT[point], "plans": 1, "states": states, "alive": True}


def test_a_worker_goes_on_when_redis_was_emptied(story: Story) -> None:
    assert story("emptied") == {"active": True, "same_run": True, "alive": True}
