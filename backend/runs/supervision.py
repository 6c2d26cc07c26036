"""Making what runs agree with what is wanted, one topology at a time.

Everything here may be done by several workers at once and may stop anywhere: each step is a
compare-and-set on the database or an event that only counts once, and the next round sees
what is left to do. Time is given by the caller.
"""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from backend.live.lag import waiting_since
from backend.live.state import LiveState
from backend.redis import connection, send_control, send_event
from backend.runs import launch_queue, process, supervisor_heartbeat
from backend.runs.recording import consume
from backend.topologies.models import ENDED, Desired, Plan, Run, RunState, Topology
from backend.topologies.status import deployment_state
from jobs.protocol import AnyEvent, Deploy, Heartbeat, JobFailed, JobStopped, Stop, control_key
from jobs.protocol.log_lines import INFO_MARK

log = logging.getLogger(__name__)

LAUNCH_SECONDS = 30
"""A run that was created but has no process after this time lost its launcher."""
STOP_SECONDS = {"now": 30, "drain": 600}
"""A job that was told to stop is asked by the operating system after this time, and killed later."""
KILL_AFTER_SECONDS = 15
STUCK_TRIGGERS = 20
"""Tuples that wait may wait for the next trigger: a job is not stuck before so many are over."""
_MOST_DOUBLINGS = 10
TAIL_LINES = 50
"""Of the log, kept as the reason for which a run failed."""


def reconcile(topology_id: int, now: datetime) -> None:
    """Bring a topology's job closer to what is wanted.

    Returns at once if nothing is to be done.
    """
    topology = _load(topology_id)
    if topology is None:
        return
    state = consume(topology)
    topology = _load(topology_id)
    if topology is None:
        return
    run = topology.current_run
    if run is not None and run.state not in ENDED:
        verdict = _judge(topology, run, state, now)
        if verdict is not None:
            send_event(topology.name, verdict)
            consume(topology)
            topology = _load(topology_id)
            if topology is None:
                return
            run = topology.current_run
    if run is None or run.state in ENDED:
        if _should_launch(topology, now):
            _launch(topology, run, now)
    elif topology.desired == Desired.STOPPED and run.stop_requested_at is None:
        request_stop(run.pk, now)
    else:
        _send_plan(topology, run)


def _load(topology_id: int) -> Topology | None:
    found = (
        Topology.objects.select_related("current_run", "plan", "active_plan").filter(pk=topology_id).first()
    )
    if found is not None and found.current_run is not None:
        found.current_run.topology = found
    return found


def _judge(topology: Topology, run: Run, state: LiveState, now: datetime) -> AnyEvent | None:
    """What has to be said for a run that cannot: that it failed, or stopped as told."""
    if (
        run.state == RunState.CREATED
        and run.pid is None
        and now - run.created_at < timedelta(seconds=LAUNCH_SECONDS)
    ):
        return None
    if process.is_alive(run) is False:
        # It may have had its last word after the events were read.
        consume(topology)
        run.refresh_from_db()
        if run.state in ENDED:
            return None
        process.end(run)
        if run.stop_requested_at is not None:
            return JobStopped(run=run.pk, at=now, reason="stopped on request")
        return _failure(run, now, "the job's process is gone")
    if run.stop_requested_at is not None:
        return _urge(run, now)
    reason = _silence(run, now) or _stall(topology, run, state, now)
    if reason is None:
        return None
    process.end(run)
    return _failure(run, now, reason)


def _urge(run: Run, now: datetime) -> AnyEvent | None:
    """Help a job to stop that was told to and does not."""
    assert run.stop_requested_at is not None  # the caller asks for runs that were told to stop
    waited = now - run.stop_requested_at
    patience = timedelta(seconds=STOP_SECONDS[run.stop_mode])
    if not _control_is_kept(run.topology):
        _send_stop(run)
    if waited > patience + timedelta(seconds=KILL_AFTER_SECONDS):
        process.end(run)
        return JobStopped(run=run.pk, at=now, reason="killed: it did not stop when told")
    if waited > patience:
        process.terminate(run)
    return None


def _silence(run: Run, now: datetime) -> str | None:
    """Why a run counts as dead although its process may live; None if it does not."""
    limit = timedelta(seconds=settings.MILLRACE_HEARTBEAT_SECONDS)
    heard = run.heartbeat_at or run.created_at
    if now - heard <= limit:
        return None
    if run.started_at is None:
        # Doubled by every failure in a row: where a start only takes long, one succeeds at last.
        patience = timedelta(seconds=settings.MILLRACE_START_SECONDS)
        patience *= 2 ** min(run.topology.failures, _MOST_DOUBLINGS)
        return (
            None
            if now - run.created_at <= patience
            else f"not started after {patience.total_seconds():.0f} s"
        )
    # While Redis was away nobody could be heard; a job gets the same time again once it is back.
    if connection().info("server")["uptime_in_seconds"] <= 2 * limit.total_seconds():
        return None
    if supervisor_heartbeat.was_away(now, limit):
        return None
    return f"no heartbeat for {(now - heard).total_seconds():.0f} s"


def _stall(topology: Topology, run: Run, state: LiveState, now: datetime) -> str | None:
    """Why a run counts as stuck although it is heard; None if it does not.

    Every failure in a row doubles the patience: a batch that only takes long gets its time at last.
    A batch that was given up waits for another plan, and not because of the job. To find the tuples that a
    batch fails with takes as long as many batches do: a job has the same time again for it, and from each
    word that its batch waits for a server.
    """
    if run.started_at is None or topology.given_up:
        return None
    triggers = timedelta(milliseconds=STUCK_TRIGGERS * topology.job_settings.trigger_ms)
    patience = max(timedelta(seconds=settings.MILLRACE_STUCK_SECONDS), triggers)
    patience *= 2 ** min(topology.failures, _MOST_DOUBLINGS)
    progress = max(run.started_at, state.history[-1].at) if state.history else run.started_at
    words = [one.at for one in (state.failed_batch, state.waiting_batch) if one is not None]
    progress = max((progress, *words))
    since = waiting_since(topology, state) if now - progress > patience else None
    if since is None:
        return None
    waited = now - max(since, progress if words else run.started_at)
    if waited <= patience:
        return None
    return f"stuck: tuples have waited for {waited.total_seconds():.0f} s and no batch was committed"


def _failure(run: Run, now: datetime, reason: str) -> JobFailed:
    lines, _ = process.log_tail(run, TAIL_LINES)
    said = (line.strip() for line in reversed(lines) if INFO_MARK not in line)
    last = next(filter(None, said), "")
    error = f"{reason}: {last}" if last else reason
    return JobFailed(run=run.pk, at=now, error=error[:500], detail="\n".join(lines))


def _should_launch(topology: Topology, now: datetime) -> bool:
    if topology.desired != Desired.RUNNING or topology.plan is None or topology.halted:
        return False
    if deployment_state(topology) == "planning":
        return False
    return topology.restart_at is None or topology.restart_at <= now


def _launch(topology: Topology, last: Run | None, now: datetime) -> None:
    plan = topology.plan
    assert plan is not None  # `_should_launch` asked
    with transaction.atomic():
        if not launch_queue.take(topology, now):
            return
        run = Run.objects.create(
            topology=topology,
            attempt=topology.failures + 1,
            plan=plan,
            memory_limit_bytes=topology.memory_limit_bytes,
            job=topology.job,
        )
        claimed = Topology.objects.filter(pk=topology.pk, current_run=last, desired=Desired.RUNNING).update(
            current_run=run
        )
        if not claimed:
            transaction.set_rollback(True)
    if not claimed:
        return
    if last is not None:
        # Two jobs on one checkpoint would destroy it.
        process.end(last)
    # Whatever was said to the last run does not concern this one.
    connection().delete(control_key(topology.name))
    try:
        launched = process.launch(run, plan)
    except OSError as error:
        send_event(topology.name, JobFailed(run=run.pk, at=now, error=f"not launched: {error}", detail=""))
        consume(topology)
        return
    Run.objects.filter(pk=run.pk).update(
        pid=launched.pid, process_started_at=launched.started_at, host=launched.host
    )
    Run.objects.filter(pk=run.pk, state=RunState.CREATED).update(state=RunState.STARTING)
    send_event(topology.name, Heartbeat(run=run.pk, at=now, state="starting", batch=0))
    ids = {"topology": topology.name, "run": run.pk, "plan": plan.plan_id}
    log.info("topology %s: launched run %s as process %d", topology, run.pk, launched.pid, extra=ids)


def _send_plan(topology: Topology, run: Run) -> None:
    """Tell a running job about the plan that is wanted.

    Once per plan and run; again if Redis was emptied before the job said that it has it.
    """
    plan = topology.plan
    if (
        plan is None
        or topology.desired != Desired.RUNNING
        or run.started_at is None
        or run.stop_requested_at is not None
    ):
        return
    if run.sent_plan_id == plan.pk and (topology.active_plan_id == plan.pk or _control_is_kept(topology)):
        return
    claimed = Run.objects.filter(pk=run.pk, sent_plan=run.sent_plan_id).update(sent_plan=plan)
    if claimed and topology.active_plan_id != plan.pk:
        try:
            _deploy(topology, plan)
        except Exception:
            # Not said, so it must be said again.
            Run.objects.filter(pk=run.pk, sent_plan=plan).update(sent_plan=run.sent_plan_id)
            raise


def _deploy(topology: Topology, plan: Plan) -> None:
    weight = topology.planner_settings.storage_weight
    graph = json.loads(plan.graph)
    send_control(
        topology.name,
        Deploy(plan_id=plan.plan_id, graph=graph, cause=plan.cause, storage_weight=weight),
    )
    ids = {"topology": topology.name, "plan": plan.plan_id}
    log.info("topology %s: told its job to run plan %s", topology, plan.plan_id, extra=ids)


def request_stop(run_id: str, now: datetime) -> None:
    """Tell a run to stop, the way that was asked for."""
    run = Run.objects.select_related("topology").exclude(state__in=ENDED).filter(pk=run_id).first()
    if run is None:
        return
    Run.objects.filter(pk=run_id, stop_requested_at=None).update(stop_requested_at=now)
    _send_stop(run)
    if run.started_at is None:
        # It does not listen yet; there is nothing to lose before the first batch.
        process.terminate(run)


def _send_stop(run: Run) -> None:
    send_control(run.topology.name, Stop(mode="drain" if run.stop_mode == "drain" else "now"))


def _control_is_kept(topology: Topology) -> bool:
    """False if nothing that the topology was told is in Redis, perhaps emptied since."""
    return bool(connection().exists(control_key(topology.name)))
