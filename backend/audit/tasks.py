from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from backend.audit import actions


@shared_task(name="audit.prune")
def prune() -> None:
    """Delete what is older than is kept."""
    actions.prune(timezone.now())
