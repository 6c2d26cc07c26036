"""The Celery tasks. They take ids, and each calls one function."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from celery.signals import worker_ready
from celery.utils.log import get_task_logger
from django.conf import settings
from django.db.models import F
from django.utils import timezone

from backend.limits import suspension
from backend.live.subscription.kept import prune
from backend.planning import reoptimization, revisions
from backend.runs import supervision, supervisor_heartbeat
from backend.topologies.models import Desired, Topology

log = get_task_logger(__name__)

ABANDONED = timedelta(seconds=90)
"""A revision that nobody has planned for this long lost its task."""


@shared_task(name="topologies.optimize")
def optimize(topology_id: int) -> None:
    """Plan and deploy a topology's newest revision, unless another task is at it."""
    if revisions.plan_newest(topology_id):
        supervision.reconcile(topology_id, timezone.now())


@shared_task(name="topologies.reoptimize")
def reoptimize(topology_id: int) -> None:
    """Evaluate a topology's newest epoch; deploy another plan if that is worth it."""
    if reoptimization.reoptimize(topology_id):
        supervision.reconcile(topology_id, timezone.now())


@shared_task(name="topologies.prune_results")
def prune_results() -> None:
    """Delete the oldest results of topologies that keep more than they may."""
    most = float(settings.MILLRACE_RESULT_BYTES)
    if most > 0:
        for name in Topology.objects.values_list("name", flat=True):
            prune(name, most)


@shared_task(name="topologies.adapt")
def adapt() -> None:
    """Look for newly completed epochs of the topologies that run."""
    for topology_id in Topology.objects.filter(desired=Desired.RUNNING).values_list("pk", flat=True):
        reoptimize.delay(topology_id)


@shared_task(name="topologies.reconcile")
def reconcile(topology_id: int) -> None:
    _look_after(topology_id)


@shared_task(name="topologies.stop")
def stop(run_id: str) -> None:
    supervision.request_stop(run_id, timezone.now())


@shared_task(name="topologies.plan_failed_again")
def plan_failed_again() -> None:
    """Give revisions that could not be planned to the code that runs now."""
    for topology_id in revisions.forget_failures():
        optimize.delay(topology_id)


@worker_ready.connect
def _try_again(**_: object) -> None:
    # As a task: the worker's first process holds no connection to the database that its children inherit.
    plan_failed_again.delay()


def _look_after(topology_id: int) -> None:
    supervision.reconcile(topology_id, timezone.now())
    if suspension.suspend_excessive(topology_id, timezone.now()):
        optimize.delay(topology_id)


@shared_task(name="topologies.supervise")
def supervise() -> None:
    """Look after every topology; a fault of one does not keep the others waiting."""
    now = timezone.now()
    supervisor_heartbeat.note(now, timedelta(seconds=settings.MILLRACE_HEARTBEAT_SECONDS))
    first: Exception | None = None
    for topology_id in Topology.objects.values_list("pk", flat=True):
        try:
            _look_after(topology_id)
        except Exception as error:
            log.exception("topology %s cannot be supervised", topology_id)
            first = first or error
    unplanned = Topology.objects.filter(revision__gt=F("planned_revision")).filter(
        revision__gt=F("failed_revision"), revised_at__lt=now - ABANDONED
    )
    for topology_id in unplanned.exclude(claimed_at__gt=now - ABANDONED).values_list("pk", flat=True):
        Topology.objects.filter(pk=topology_id).update(claimed_revision=F("planned_revision"))
        optimize.delay(topology_id)
    if first is not None:
        raise first
