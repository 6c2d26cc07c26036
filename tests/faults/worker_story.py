"""A program for test_workers.py, which talks to the product as its web process does.

`claimed`, `created` and `launched`: a worker dies there and another one goes on; says as JSON what the first
left and what became of it. `emptied`: Redis is, and a worker and a job go on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.utils import timezone  # noqa: E402

from backend.accounts.actions import create_operator  # noqa: E402
from backend.catalog.actions import create_query  # noqa: E402
from backend.catalog.models import Query  # noqa: E402
from backend.deployments.actions import deploy_query  # noqa: E402
from backend.redis import connection  # noqa: E402
from backend.runs import process, tasks  # noqa: E402
from backend.runs.supervision import LAUNCH_SECONDS  # noqa: E402
from backend.streams.actions import StreamSpec, create_stream  # noqa: E402
from backend.topologies.models import Plan, Run, Topology  # noqa: E402
from backend.topologies.status import active_revision  # noqa: E402
from optimizer.algebra.types import ColumnType  # noqa: E402
from tests.api.runs.worker_story import SECONDS, wait_until_active  # noqa: E402

SQL = "SELECT x.a FROM r [RANGE 1 HOUR] AS x, r [RANGE 1 HOUR] AS y WHERE x.a = y.a"


def worker(point: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "backend.celery:app", "worker", "--pool", "solo"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        env={**os.environ, "MILLRACE_TEST_DIES_AT": point},
    )


def let_time_pass() -> None:
    """What the dead worker was at is old by now."""
    long_ago = timezone.now() - max(tasks.ABANDONED, timedelta(seconds=LAUNCH_SECONDS)) - timedelta(seconds=1)
    Topology.objects.update(revised_at=long_ago, claimed_at=long_ago)
    Run.objects.update(created_at=long_ago)


def register() -> tuple[User, Query]:
    owner = create_operator("olga", "long-enough-1")
    create_stream(owner, StreamSpec("r", (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT)), "at"))
    return owner, create_query(owner, "pairs", SQL)


def killed(point: str) -> None:
    owner, query = register()
    first, second = worker(point), None
    try:
        deploy_query(owner, query, "flights")
        died = first.wait(SECONDS) == -signal.SIGKILL
        left = Topology.objects.get()
        told = {
            "died": died,
            "claimed": left.claimed_revision,
            "planned": left.planned_revision,
            "pids": list(Run.objects.values_list("pid", flat=True)),
        }
        let_time_pass()
        second = worker("")
        topology = wait_until_active()
        told |= {
            "plans": Plan.objects.count(),
            "states": sorted(Run.objects.values_list("state", flat=True)),
            "alive": process.is_alive(topology.current_run),
        }
        print(json.dumps(told))
    finally:
        for one in (first, second):
            if one is not None:
                one.kill()
                one.wait()
        for run in Run.objects.select_related("topology"):
            process.end(run)


def emptied() -> None:
    """Redis is emptied behind the back of a worker and a job."""
    owner, query = register()
    only = worker("")
    try:
        deploy_query(owner, query, "flights")
        run = wait_until_active().current_run
        connection().flushall()
        second = deploy_query(owner, create_query(owner, "equals", SQL.replace("= y.a", "< y.a")), "flights")
        topology = wait_until_active()
        told = {
            "active": active_revision(topology) == second.revision,
            "same_run": topology.current_run == run,
            "alive": process.is_alive(topology.current_run),
        }
        print(json.dumps(told))
    finally:
        only.kill()
        only.wait()
        for one in Run.objects.select_related("topology"):
            process.end(one)


if __name__ == "__main__":
    assert os.environ["DJANGO_SETTINGS_MODULE"] == "tests.faults.worker_settings"
    if sys.argv[1] == "emptied":
        emptied()
    else:
        killed(sys.argv[1])
