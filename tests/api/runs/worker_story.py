"""A program for test_worker.py: deploys, kills the worker, and says as JSON which runs there were.

It talks to the product as its web process does; another process is the worker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from time import monotonic

import django

django.setup()

from backend.accounts.actions import create_operator  # noqa: E402
from backend.catalog.actions import create_query  # noqa: E402
from backend.deployments.actions import deploy_query  # noqa: E402
from backend.redis import connection  # noqa: E402
from backend.runs import process  # noqa: E402
from backend.runs.tasks import supervise  # noqa: E402
from backend.streams.actions import StreamSpec, create_stream  # noqa: E402
from backend.topologies.models import Run, Topology  # noqa: E402
from backend.topologies.status import deployment_state  # noqa: E402
from jobs.protocol import events_key  # noqa: E402
from optimizer.algebra.types import ColumnType  # noqa: E402

SECONDS = 600


class Worker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "backend.celery:app", "worker", "--pool", "solo"],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def supervised() -> Topology:
    """Let the worker look at the topology, and wait until it has."""
    supervise.apply_async(ignore_result=False).get(timeout=SECONDS)
    return Topology.objects.select_related("current_run", "plan", "active_plan").get()


def wait_until_active() -> Topology:
    deadline = monotonic() + SECONDS
    last = "0-0"
    while monotonic() < deadline:
        topology = supervised()
        if deployment_state(topology) == "active":
            return topology
        reply = connection().xread({events_key("flights"): last}, block=2000)
        last = reply[0][1][-1][0] if reply else last
    raise TimeoutError("the deployment did not become active")


def main() -> None:
    owner = create_operator("olga", "long-enough-1")
    create_stream(owner, StreamSpec("r", (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT)), "at"))
    sql = "SELECT x.a FROM r [RANGE 1 HOUR] AS x, r [RANGE 1 HOUR] AS y WHERE x.a = y.a"
    query = create_query(owner, "pairs", sql)
    worker = Worker()
    try:
        deploy_query(owner, query, "flights")
        run = wait_until_active().current_run
        worker.kill()
        alive = process.is_alive(run)
        heard_before = run.heartbeat_at
        worker = Worker()
        later = supervised().current_run
        told = {
            "same_run": later.pk == run.pk,
            "alive_without_worker": alive,
            "heard_again": later.heartbeat_at > heard_before,
            "state": later.state,
            "fresh": datetime.now(UTC) - later.heartbeat_at < timedelta(seconds=10),
            "runs": Run.objects.count(),
        }
        process.end(later)
        print(json.dumps(told))
    finally:
        worker.kill()


if __name__ == "__main__":
    assert os.environ["DJANGO_SETTINGS_MODULE"] == "tests.api.runs.worker_settings"
    main()
