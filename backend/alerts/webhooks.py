"""Post webhooks of alerts, as far as this installation's settings allow it."""

from __future__ import annotations

from django.conf import settings

from jobs.protocol import webhooks


def check(url: str) -> None:
    """Raise `NotAllowed` for a URL that may not be posted to."""
    webhooks.check(url, _policy())


def post(url: str, body: bytes, secret: str) -> None:
    """Post signed JSON.

    Raises `NotAllowed`, or `NotDelivered` unless the receiver answers 2xx.
    """
    webhooks.post(url, body, secret, _policy())


def _policy() -> webhooks.Policy:
    return webhooks.Policy(
        tuple(settings.MILLRACE_WEBHOOK_HOSTS),
        settings.MILLRACE_WEBHOOK_PRIVATE,
        settings.MILLRACE_WEBHOOK_CA,
    )
