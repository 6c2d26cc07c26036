from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from backend.forecasts import actions


@shared_task(name="forecasts.judge")
def judge() -> None:
    """Compare forecasts whose windows are full with what the stores hold."""
    actions.judge(timezone.now())
