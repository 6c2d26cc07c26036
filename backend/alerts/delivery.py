"""Sending one message, with another try for what may pass."""

from __future__ import annotations

import json
import smtplib
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F

from backend.alerts import webhooks
from backend.alerts.models import Channel, Delivery
from jobs.protocol.webhooks import NotAllowed, NotDelivered

MOST_ATTEMPTS = 6
FIRST_WAIT = timedelta(seconds=10)
"""Doubled with every attempt: the last is some five minutes after the first."""
LEASE = timedelta(seconds=60)
"""So long a worker has for one attempt, before another may take the message."""


def attempt(delivery_id: int, now: datetime) -> timedelta | None:
    """Send the message unless another worker is at it.

    Returns when to try again, None if it is over or not ours.
    """
    delivery = (
        Delivery.objects.select_related("alert__rule", "alert__topology")
        .filter(pk=delivery_id, state=Delivery.State.WAITING, due_at__lte=now)
        .first()
    )
    if delivery is None:
        return None
    mine = Delivery.objects.filter(pk=delivery_id, attempts=delivery.attempts, state=Delivery.State.WAITING)
    if not mine.update(attempts=F("attempts") + 1, due_at=now + LEASE):
        return None
    row = Delivery.objects.filter(pk=delivery_id)
    if delivery.attempts >= MOST_ATTEMPTS:
        # Whoever tried it last did not live to say how that ended.
        row.update(state=Delivery.State.FAILED, error=delivery.error or "every attempt was broken off")
        return None
    try:
        _send(delivery, now)
    except NotAllowed as error:
        row.update(state=Delivery.State.FAILED, error=str(error))
        return None
    except (NotDelivered, smtplib.SMTPException, OSError) as error:
        if delivery.attempts + 1 >= MOST_ATTEMPTS:
            row.update(state=Delivery.State.FAILED, error=str(error))
            return None
        wait = FIRST_WAIT * (1 << delivery.attempts)
        row.update(due_at=now + wait, error=str(error))
        return wait
    row.update(state=Delivery.State.SENT, sent_at=now, error="")
    return None


def document(delivery: Delivery, now: datetime) -> dict[str, object]:
    """What a webhook gets."""
    alert = delivery.alert
    return {
        "version": 1,
        "event": delivery.event,
        "kind": alert.kind,
        "topology": None if alert.topology is None else alert.topology.name,
        "detail": alert.detail,
        "rule": alert.rule.name,
        "alert": alert.pk,
        "opened_at": alert.opened_at.isoformat().replace("+00:00", "Z"),
        "sent_at": now.isoformat().replace("+00:00", "Z"),
    }


def _send(delivery: Delivery, now: datetime) -> None:
    rule = delivery.alert.rule
    told = document(delivery, now)
    if rule.channel == Channel.WEBHOOK:
        webhooks.post(rule.target, json.dumps(told).encode(), rule.secret)
        return
    subject = f"[Millrace] {told['topology'] or 'test'}: {told['kind']} {told['event']}"
    text = "".join(f"{name}: {value}\n" for name, value in told.items() if name != "version")
    EmailMessage(subject, text, settings.MILLRACE_EMAIL_FROM, [rule.target]).send()
