from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models

from backend.topologies.models import Topology


class Channel(models.TextChoices):
    WEBHOOK = "webhook", "webhook"
    EMAIL = "email", "email"


class Kind(models.TextChoices):
    FAILED = "failed", "failed"
    LAG = "lag", "lag"
    STUCK = "stuck", "stuck"
    SUSPENDED = "suspended", "suspended"
    DIFFERS = "differs", "differs"
    LETTERS = "letters", "letters"
    LATENCY = "latency", "latency"
    STATE = "state", "state"
    CORES = "cores", "cores"
    BUDGET = "budget", "budget"
    TEST = "test", "test"


class AlertRule(models.Model):
    """Who is told of what, and how."""

    name = models.CharField(max_length=100)
    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, null=True, related_name="alert_rules")
    """None is every topology."""
    channel = models.CharField(max_length=7, choices=Channel.choices)
    target = models.CharField(max_length=500)
    """A URL or an e-mail address."""
    secret = models.CharField(max_length=64, default=secrets.token_urlsafe)
    """Signs webhooks, so that their receiver knows who sends them."""
    on_failed = models.BooleanField(default=True)
    lag_seconds = models.PositiveIntegerField(null=True)
    """None: not told of lag."""
    stuck_seconds = models.PositiveIntegerField(null=True)
    letters_per_minute = models.PositiveIntegerField(null=True)
    """Dead letters; 0 tells of each."""
    latency_ms = models.PositiveIntegerField(null=True)
    """For 99 of 100 of a query's results."""
    state_mb = models.PositiveIntegerField(null=True)
    cores = models.FloatField(null=True)
    enabled = models.BooleanField(default=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="alert_rules")
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.SET_NULL, null=True, related_name="alert_rules"
    )
    """Whose authors may see and change it too."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """That a rule's condition holds for a topology; open until it no longer does."""

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="alerts")
    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, null=True, related_name="alerts")
    """None for a test."""
    kind = models.CharField(max_length=9, choices=Kind.choices)
    detail = models.TextField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("rule", "topology", "kind"),
                condition=models.Q(closed_at=None),
                name="one_open_alert",
            ),
        )

    def __str__(self) -> str:
        return f"{self.topology}: {self.kind}"


class Delivery(models.Model):
    """One message: that an alert opened or closed."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        FAILED = "failed", "failed"

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=6, choices=[("opened", "opened"), ("closed", "closed")])
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    """When it is tried next; while it is tried, when it is given to another worker."""
    error = models.TextField(blank=True, default="")
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return f"{self.alert} {self.event}"
