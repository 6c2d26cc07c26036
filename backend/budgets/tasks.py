from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from backend.budgets import actions


@shared_task(name="budgets.take_in")
def take_in() -> None:
    """Count what teams use, and suspend who has spent all."""
    actions.take_in(timezone.now())
