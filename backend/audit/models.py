from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone

from backend.audit.origin import Through


class AsWritten(DjangoJSONEncoder):
    """Texts as they are, to be found where JSON is stored as text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "ensure_ascii": False})


class AuditEntry(models.Model):
    """That something was changed: by whom, when, through what, and how.

    Never changed once written. Names are kept as they were at that time, as text, so that an entry outlives
    its account and what it is about.
    """

    at = models.DateTimeField(default=timezone.now, db_index=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """None: the product itself, nobody who is known, or an account that is gone."""
    account_name = models.CharField(max_length=150, blank=True, default="")
    """Empty: the product itself, or nobody who is known."""
    through = models.CharField(max_length=9, choices=Through.choices)
    through_name = models.CharField(max_length=255, blank=True, default="")
    """Of the token, the directory or the command."""
    kind = models.CharField(max_length=63)
    """What kind of thing was changed: stream, query, topology, account."""
    name = models.CharField(max_length=255, blank=True, default="")
    key = models.CharField(max_length=63, blank=True, default="")
    """Its primary key at that time."""
    team = models.CharField(max_length=63, blank=True, default="")
    topology = models.CharField(max_length=63, blank=True, default="")
    """The one that it concerns."""
    verb = models.CharField(max_length=40)
    """What was done: create, change, delete, deploy, sign in."""
    detail = models.TextField(blank=True, default="")
    """More of it in one line."""
    changes = models.JSONField(default=dict, encoder=AsWritten)
    """Values before and after by field (`backend.audit.changes`); never a secret."""

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "audit entries"
        indexes = (
            models.Index(fields=("topology", "-id"), name="audit_of_topology"),
            models.Index(fields=("account_name", "-id"), name="audit_of_account"),
            models.Index(fields=("kind", "verb"), name="audit_of_kind"),
        )

    def __str__(self) -> str:
        return f"{self.account_name or 'the product'}: {self.verb} {self.kind} {self.name}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError(f"audit entry {self.pk} is written already and does not change")
        super().save(*args, **kwargs)
