from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from backend.alerts import delivery, watching


@shared_task(name="alerts.watch")
def watch() -> None:
    """Open and close alerts, and send what has to be told."""
    for delivery_id in watching.watch(timezone.now()):
        deliver.delay(delivery_id)


@shared_task(name="alerts.deliver")
def deliver(delivery_id: int) -> None:
    """Send one message; if it is not taken, later again."""
    wait = delivery.attempt(delivery_id, timezone.now())
    if wait is not None:
        deliver.apply_async((delivery_id,), countdown=wait.total_seconds() + 0.1)
