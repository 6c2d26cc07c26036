"""Events into the database: what must outlive Redis."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from backend.limits.suspension import note_batch, note_given_up
from backend.live.models import LiveRecord
from backend.live.queries import START, events_after, last_generated, stored_state
from backend.live.state import LiveState, concerns, fold
from backend.runs.backoff import delay
from backend.topologies.models import ENDED, Plan, PlanSwitch, Run, RunState, Topology
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    BatchFailed,
    BatchGivenUp,
    BatchWaits,
    DeployRefused,
    EpochCompleted,
    Heartbeat,
    JobFailed,
    JobStarted,
    JobStopped,
    PlanSwitched,
    ShapesChanged,
    entry_order,
)

HEALTHY_AFTER = timedelta(seconds=60)
"""A run that works for this long ends a row of failures."""


def consume(topology: Topology) -> LiveState:
    """Store each event not stored yet, once among many workers; returns the state."""
    record, _ = LiveRecord.objects.get_or_create(topology=topology)
    if entry_order(record.last_event_id) > entry_order(last_generated(topology.name)):
        LiveRecord.objects.filter(pk=record.pk, last_event_id=record.last_event_id).update(
            last_event_id=START
        )
        record.refresh_from_db()
    while events := events_after(topology.name, record.last_event_id):
        before = record.last_event_id
        state = stored_state(record)
        with transaction.atomic():
            # The claim comes first: whoever moves the cursor records the events behind it.
            last = events[-1][0]
            claimed = LiveRecord.objects.filter(pk=record.pk, last_event_id=before).update(last_event_id=last)
            if claimed:
                for entry, event in events:
                    if event is None:
                        state = state.model_copy(update={"last_event_id": entry})
                        continue
                    if concerns(state, event):
                        _record(topology, entry, event)
                    state = fold(state, entry, event)
                LiveRecord.objects.filter(pk=record.pk).update(state=state.model_dump_json())
        record.refresh_from_db()
    return stored_state(record)


def _record(topology: Topology, entry: str, event: AnyEvent) -> None:
    run = Run.objects.filter(pk=event.run, topology=topology).exclude(state__in=ENDED)
    match event:
        case JobStarted():
            run.update(
                pid=event.pid,
                host=event.host,
                state=RunState.RUNNING,
                started_at=event.at,
                heartbeat_at=event.at,
            )
            _activate(topology, event.plan_id)
        case Heartbeat():
            run.update(state=event.state, heartbeat_at=event.at)
            if event.state in ("running", "idle"):
                # Its first word was lost if Redis was emptied meanwhile.
                run.filter(started_at=None).update(started_at=event.at)
        case BatchCompleted():
            run.update(batch=event.batch, heartbeat_at=event.at)
            run.exclude(state=RunState.STOPPING).update(state=RunState.RUNNING)
            _activate(topology, event.plan_id)
            if run.filter(started_at__lt=event.at - HEALTHY_AFTER).exists():
                Topology.objects.filter(pk=topology.pk, failures__gt=0).update(failures=0)
            note_batch(topology, event)
        case BatchGivenUp():
            note_given_up(topology, event)
        case PlanSwitched():
            PlanSwitch.objects.get_or_create(
                topology=topology,
                event_id=entry,
                defaults={
                    "run": run.first(),
                    "plan_id": event.plan_id,
                    "epoch": event.epoch,
                    "batch": event.batch,
                    "cause": event.cause[:255],
                    "at": event.at,
                },
            )
            _activate(topology, event.plan_id)
        case EpochCompleted() | ShapesChanged() | BatchFailed() | BatchWaits():
            # The pages' state holds them; planning again reads epochs from Redis.
            pass
        case DeployRefused():
            refused = Plan.objects.filter(topology=topology, plan_id=event.plan_id).first()
            if refused is not None:
                Topology.objects.filter(pk=topology.pk, plan=refused).update(
                    failed_revision=F("planned_revision"), deployment_error=event.reason
                )
        case JobStopped():
            unasked = run.filter(stop_requested_at=None).exists()
            run.update(state=RunState.STOPPED, ended_at=event.at)
            if unasked:
                # Somebody else ended it. It is launched again, but not in a tight loop.
                _back_off(topology, event.run, event.at)
        case JobFailed():
            error = event.error.splitlines()[0] if event.error else "failed"
            ended = run.update(
                state=RunState.FAILED, ended_at=event.at, error=error, error_detail=event.detail
            )
            if ended and not (event.final and _halt(topology, event.run)):
                _back_off(topology, event.run, event.at)


def _activate(topology: Topology, plan_id: str) -> None:
    plan = Plan.objects.filter(topology=topology, plan_id=plan_id).first()
    if plan is not None:
        Topology.objects.filter(pk=topology.pk).exclude(active_plan=plan).update(active_plan=plan)


def _halt(topology: Topology, run: str) -> bool:
    """Launch no further job under the last one's limit; false if there is another now."""
    had = Run.objects.values_list("memory_limit_bytes", flat=True).get(pk=run)
    same = Topology.objects.filter(pk=topology.pk, current_run=run, memory_limit_bytes=had)
    return bool(same.update(halted=True, restart_at=None))


def _back_off(topology: Topology, run: str, at: datetime) -> None:
    """Count the failure, and wait longer the more there were in a row."""
    current = Topology.objects.filter(pk=topology.pk, current_run=run)
    current.update(failures=F("failures") + 1)
    failures = current.values_list("failures", flat=True).first()
    if failures is not None:
        current.update(restart_at=at + delay(failures))
