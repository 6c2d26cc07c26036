"""The supervisor with real processes: launched, found again, missed, restarted, stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import sleep
from typing import Protocol

import psutil
import pytest
import redis
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments import actions
from backend.planning import revisions
from backend.runs import process, supervision, supervisor_heartbeat
from backend.topologies.models import Run, RunState, Topology, TopologyQuery
from backend.topologies.status import active_revision, deployment_state, query_status, topology_state
from tests.api.runs.conftest import PATIENCE_S

pytestmark = pytest.mark.django_db
Job = Callable[[str], None]
TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""


class Supervised(Protocol):
    now: datetime

    @property
    def topology(self) -> Topology: ...
    @property
    def run(self) -> Run: ...
    def look(self, seconds: float = 0) -> Topology: ...
    def hear(self, *kinds: str) -> None: ...


def _running(supervised: Supervised) -> Run:
    supervised.look()
    supervised.hear("job_started", "batch")
    supervised.look(1)
    return supervised.run


def test_a_wanted_topology_is_launched_and_becomes_active(supervised: Supervised, query: Query) -> None:
    assert topology_state(supervised.look()) == "starting"
    first = supervised.run
    assert process.is_alive(first) is True
    supervised.hear("job_started", "batch")
    topology = supervised.look(1)
    run = supervised.run
    assert (run.pk, run.state, run.attempt) == (first.pk, RunState.RUNNING, 1)
    assert run.pid is not None
    assert run.heartbeat_at is not None
    assert topology_state(topology) == "running"
    assert (deployment_state(topology), active_revision(topology)) == ("active", 1)
    assert query_status(TopologyQuery.objects.get(query=query)) == "running"
    assert Run.objects.count() == 1


def test_two_workers_launch_one_job(supervised: Supervised) -> None:
    stale = supervised.topology
    supervised.look()
    supervision._launch(stale, None, supervised.now)  # type: ignore[attr-defined]
    assert Run.objects.count() == 1


def test_a_job_leads_its_own_session_and_is_found_by_pid_and_start(supervised: Supervised) -> None:
    run = _running(supervised)
    assert run.pid is not None
    assert os.getsid(run.pid) == run.pid
    # The same pid with another start is another process.
    impostor = Run(topology=run.topology, pid=run.pid, process_started_at=1.0, host=run.host)
    assert process.is_alive(impostor) is False
    # Without a pid it is found by its run's id.
    unknown = Run(pk=run.pk, topology=run.topology, host=run.host)
    assert process.is_alive(unknown) is True


@pytest.mark.parametrize(
    ("fault", "error"),
    [("crash", "the disk is full"), ("mute", "the job's process is gone: out of luck")],
)
def test_a_job_that_dies_is_shown_with_its_last_words(
    supervised: Supervised, job: Job, fault: str, error: str
) -> None:
    job(fault)
    supervised.look()
    psutil.Process(supervised.run.pid).wait(PATIENCE_S)
    topology = supervised.look(1)
    assert (topology_state(topology), supervised.run.error) == ("failed", error)
    assert topology.failures == 1
    assert topology.restart_at is not None


def test_a_killed_job_is_noticed_at_the_next_look_and_restarted(supervised: Supervised) -> None:
    run = _running(supervised)
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    psutil.Process(run.pid).wait(PATIENCE_S)
    topology = supervised.look(2)
    assert topology_state(topology) == "failed"
    assert "process is gone" in supervised.run.error
    assert supervised.look(0.5).current_run == run
    supervised.look(1)
    second = supervised.run
    assert (second.pk > run.pk, second.attempt) == (True, 2)
    supervised.hear("job_started", "batch")
    topology = supervised.look(1)
    assert (topology_state(topology), supervised.run.state) == ("running", RunState.RUNNING)


def test_waits_double_after_each_failure_and_end_after_health(supervised: Supervised, job: Job) -> None:
    job("mute")
    waits = []
    supervised.look()
    for _ in range(4):
        psutil.Process(supervised.run.pid).wait(PATIENCE_S)
        topology = supervised.look(0.01)
        assert topology.restart_at is not None
        waits.append((topology.restart_at - supervised.now).total_seconds())
        supervised.look(waits[-1])
    assert waits == [1, 2, 4, 8]
    assert supervised.run.attempt == 5


def test_a_silent_job_is_ended_and_restarted(supervised: Supervised, job: Job, settings: object) -> None:
    job("silent")
    supervised.look()
    supervised.hear("job_started")
    supervised.look(1)
    run = supervised.run
    assert topology_state(supervised.look(8)) == "running"
    # Redis must have been up for the silence to mean anything; this one is as young as the tests.
    uptime = supervision.connection().info("server")["uptime_in_seconds"]
    settings.MILLRACE_HEARTBEAT_SECONDS = min(10.0, max(0.0, (uptime - 1) / 2))  # type: ignore[attr-defined]
    topology = supervised.look(20)
    assert topology_state(topology) == "failed"
    assert "no heartbeat for" in supervised.run.error
    assert run.pid is not None
    assert process.is_alive(run) is False


def test_a_job_is_not_ended_because_redis_was_stopped(
    supervised: Supervised, job: Job, settings: object
) -> None:
    """SIGSTOP of Redis: nobody hears anything, and what says so is not that Redis is young."""
    job("silent")
    supervised.look()
    supervised.hear("job_started")
    supervised.look(1)
    settings.MILLRACE_HEARTBEAT_SECONDS = 0.4  # type: ignore[attr-defined]
    limit = timedelta(seconds=0.4)
    while supervision.connection().info("server")["uptime_in_seconds"] <= 1:
        sleep(0.1)
    supervisor_heartbeat.note(supervised.now, limit)
    supervisor_heartbeat.note(supervised.now + limit / 2, limit)
    # Back after a minute: whoever looks first, jobs have had no time to be heard.
    assert topology_state(supervised.look(60)) == "running"
    supervisor_heartbeat.note(supervised.now, limit)
    assert topology_state(supervised.look(0.3)) == "running"
    supervisor_heartbeat.note(supervised.now, limit)
    assert topology_state(supervised.look(0.2)) == "failed"
    assert "no heartbeat for" in supervised.run.error


def test_a_start_that_takes_long_gets_its_time_at_last(supervised: Supervised, job: Job) -> None:
    """On a busy machine each try would else be ended before it is through."""
    job("slow")
    waited = []
    supervised.look()
    for _ in range(3):
        first = supervised.run
        while topology_state(supervised.look(10)) == "starting":
            assert supervised.run == first
        assert "not started after" in supervised.run.error
        waited.append((supervised.now - first.created_at).total_seconds())
        restart_at = supervised.topology.restart_at
        assert restart_at is not None
        supervised.look((restart_at - supervised.now).total_seconds())
    # The limit, twice and four times as much, to the next look.
    assert [round(one / 120) for one in waited] == [1, 2, 4]


def test_a_silent_job_is_found_where_every_round_takes_long(redis_url: str, settings: object) -> None:
    settings.REDIS_URL = redis_url  # type: ignore[attr-defined]
    limit, now = timedelta(seconds=10), datetime(2026, 1, 1, tzinfo=UTC)
    excused = []
    for _ in range(6):
        now += timedelta(seconds=11)
        supervisor_heartbeat.note(now, limit)
        excused.append(supervisor_heartbeat.was_away(now, limit))
    assert excused == [True, False] * 3


def test_a_stop_is_said_and_heard(supervised: Supervised, operator: User) -> None:
    run = _running(supervised)
    actions.stop_topology(operator, supervised.topology, "drain")
    supervised.look(0.1)
    supervision.request_stop(run.pk, supervised.now)
    supervised.hear("job_stopped")
    topology = supervised.look(1)
    assert (topology_state(topology), supervised.run.state) == ("stopped", RunState.STOPPED)
    assert supervised.look(100).current_run == run


def test_a_deaf_job_is_killed(supervised: Supervised, job: Job, operator: User) -> None:
    job("deaf")
    run = _running(supervised)
    actions.stop_topology(operator, supervised.topology, "now")
    assert topology_state(supervised.look(31)) == "running"
    assert process.is_alive(run) is True
    topology = supervised.look(20)
    assert topology_state(topology) == "stopped"
    assert process.is_alive(run) is False


def test_restart_launches_another_run(supervised: Supervised, operator: User) -> None:
    run = _running(supervised)
    actions.restart_topology(operator, supervised.topology)
    supervision.request_stop(run.pk, supervised.now)
    supervised.hear("job_stopped")
    supervised.look(1)
    assert supervised.run.pk > run.pk
    assert supervised.topology.failures == 0


def test_a_running_job_is_told_a_new_plan_once(
    supervised: Supervised, owner: User, query: Query, bus: object
) -> None:
    run = _running(supervised)
    deployed = actions.deploy_query(owner, create_query(owner, "second", TWO_WAY), "flights")
    assert revisions.plan_newest(supervised.topology.pk)
    topology = supervised.look(0.1)
    assert deployment_state(topology) == "planned"
    supervised.look(0.1)
    supervised.hear("plan_switched")
    topology = supervised.look(0.1)
    assert (deployment_state(topology), active_revision(topology)) == ("active", deployed.revision)
    assert supervised.run.pk == run.pk
    assert [switch.cause for switch in topology.switches.all()] == ["deploy"]


def test_a_log_is_read_from_its_end(supervised: Supervised, as_teammate: Client, anonymous: Client) -> None:
    run = _running(supervised)
    url = f"/api/runs/{run.pk}/log/"
    assert as_teammate.get(url).json() == {"lines": ["started with flights.1"], "truncated": False}
    with process.log_file(run).open("a") as log:
        log.writelines(f"line {number}\n" for number in range(1000))
    assert as_teammate.get(url, {"tail": 2}).json() == {"lines": ["line 998", "line 999"], "truncated": True}
    # What is looked for is found however far back it stands; its newest lines come.
    found = as_teammate.get(url, {"search": "LINE 99", "tail": 5}).json()
    assert found == {"lines": [f"line {number}" for number in range(995, 1000)], "truncated": True}
    assert as_teammate.get(url, {"search": "started"}).json()["lines"] == ["started with flights.1"]
    assert as_teammate.get(url, {"tail": 0}).status_code == 400
    assert anonymous.get(url).status_code == 403


def test_ending_jobs_leaves_what_is_wanted(supervised: Supervised) -> None:
    run = _running(supervised)
    call_command("end_jobs")
    assert process.is_alive(run) is False
    supervised.look(1)
    supervised.look(2)
    assert supervised.run.pk > run.pk


def test_what_was_said_before_redis_was_emptied_is_said_again(
    supervised: Supervised, owner: User, operator: User, query: Query, bus: redis.Redis
) -> None:
    supervised.look()
    supervised.hear("job_started")
    bus.flushall()
    supervised.hear("heartbeat", "batch")
    supervised.look(1)
    run = supervised.run
    assert run.started_at is not None
    assert run.pid is not None
    deployed = actions.deploy_query(owner, create_query(owner, "second", TWO_WAY), "flights")
    assert revisions.plan_newest(supervised.topology.pk)
    with _asleep(run.pid, bus):
        supervised.look(0.1)
        bus.flushall()
    assert active_revision(supervised.look(0.1)) < deployed.revision
    supervised.hear("plan_switched", "batch")
    assert active_revision(supervised.look(0.1)) == deployed.revision

    with _asleep(run.pid, bus):
        actions.stop_topology(operator, supervised.topology, "drain")
        supervision.request_stop(run.pk, supervised.now)
        bus.flushall()
    supervised.look(0.1)
    supervised.hear("job_stopped")
    assert topology_state(supervised.look(0.1)) == "stopped"
    assert Run.objects.count() == 1


@contextmanager
def _asleep(pid: int, bus: redis.Redis) -> Iterator[None]:
    """While a job's process sleeps and does not wait for Redis: what is said meanwhile lies there."""
    process = psutil.Process(pid)
    process.suspend()
    try:
        while bus.info("clients")["blocked_clients"]:
            pass
        yield
    finally:
        process.resume()
