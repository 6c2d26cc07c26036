"""A real worker process: it plans and launches, is killed, and its successor finds the job again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings as product


def test_a_job_survives_the_worker_that_launched_it(redis_url: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "REDIS_URL": redis_url,
        "MILLRACE_HOME": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'story.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "tests.api.runs.worker_settings",
        "PYTHONPATH": str(product.BASE_DIR),
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            check=False,
            env=environment,
            cwd=product.BASE_DIR,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    run("manage.py", "migrate", "--verbosity", "0")
    told = json.loads(run("-m", "tests.api.runs.worker_story").splitlines()[-1])
    assert told == {
        "same_run": True,
        "alive_without_worker": True,
        "heard_again": True,
        "state": "running",
        "fresh": True,
        "runs": 1,
    }
