from __future__ import annotations

from celery import shared_task
from celery.utils.log import get_task_logger
from django.utils import timezone

from backend.history import actions
from backend.topologies.models import Topology

log = get_task_logger(__name__)


@shared_task(name="history.take_in")
def take_in() -> None:
    """Take in what jobs told.

    A fault of one topology does not keep the others waiting.
    """
    first: Exception | None = None
    for topology in Topology.objects.all():
        try:
            actions.take_in(topology)
        except Exception as error:
            log.exception("topology %s: its history cannot be kept", topology)
            first = first or error
    if first is not None:
        raise first


@shared_task(name="history.prune")
def prune() -> None:
    """Delete what is older than is kept."""
    actions.prune(timezone.now())
