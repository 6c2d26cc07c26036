from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from backend.oracle import actions


@shared_task(name="oracle.check")
def check(topology_id: int) -> None:
    """Compare what a topology's queries published with a batch join of what they read."""
    actions.check_topology(topology_id, timezone.now())


@shared_task(name="oracle.check_all")
def check_all() -> None:
    """Check queries whose turn it is; a topology's fault does not keep others waiting."""
    for topology_id in actions.due_topologies():
        check.apply_async((topology_id,), expires=10.0)
