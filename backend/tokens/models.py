from __future__ import annotations

from django.conf import settings
from django.db import models

from backend.streams.models import Stream


class Token(models.Model):
    """A secret that stands for its owner.

    Only its digest is kept: it is shown once, when made.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, null=True, related_name="tokens")
    """With a stream it may ingest there and nothing else; without, it may do what its owner may."""
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    """To within a minute."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.owner}'s {self.name}"
