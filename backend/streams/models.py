from __future__ import annotations

from datetime import timedelta
from typing import get_args

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from optimizer.logical.stream import MAX_AHEAD, StreamKind

DAY_MS = MAX_AHEAD // timedelta(milliseconds=1)
KIND_CHOICES = [(kind, kind) for kind in get_args(StreamKind)]
NAME = RegexValidator(r"\A[a-z_][a-z0-9_]{0,62}\Z", "lower-case letters, digits and _, at most 63")


class Stream(models.Model):
    """A registered stream, with the fields of `optimizer.logical.stream.Stream`."""

    name = models.CharField(max_length=63, unique=True, validators=[NAME])
    description = models.TextField(blank=True, default="")
    event_time = models.CharField(max_length=255)
    lateness_ms = models.BigIntegerField(default=0, validators=[MinValueValidator(0)])
    max_ahead_ms = models.BigIntegerField(default=DAY_MS, validators=[MinValueValidator(0)])
    late = models.CharField(max_length=4, choices=[("drop", "drop"), ("join", "join")], default="drop")
    kind = models.CharField(max_length=6, choices=KIND_CHOICES, default="stream")
    key = models.JSONField(default=list, blank=True)
    """Of a table: the names of the columns that say of what its tuples are versions."""
    deleted = models.CharField(max_length=255, null=True, blank=True, default=None)
    """Of a table: the column that is true of a version that deletes its key."""
    parallelism = models.PositiveIntegerField(null=True, blank=True)
    tuples_per_second = models.FloatField(null=True, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="streams")
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, null=True, blank=True, related_name="streams"
    )
    """Whose authors may change it too."""
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class StreamSource(models.Model):
    """The connector, with settings, of a stream to which producers do not send here."""

    stream = models.OneToOneField(Stream, on_delete=models.CASCADE, related_name="source")
    connector = models.CharField(max_length=63)
    settings = models.JSONField()
    """As the connector's `optimizer.logical.source.SourceSettings` writes them."""
    then = models.JSONField(default=dict)
    """By connector, the settings of what goes on where this one ends; empty if nothing does."""

    def __str__(self) -> str:
        return f"{self.stream_id}: {self.connector}"


class StreamColumn(models.Model):
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="columns")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=255)
    type = models.CharField(max_length=16)
    """A name that `optimizer.algebra.types.column_type` reads."""

    class Meta:
        ordering = ("stream", "position")
        constraints = (
            models.UniqueConstraint(fields=("stream", "position"), name="column_position"),
            models.UniqueConstraint(fields=("stream", "name"), name="column_name"),
        )

    def __str__(self) -> str:
        return f"{self.stream_id}.{self.name}"


class SelectivityEstimate(models.Model):
    """A user's estimate of the fraction of pairs (or tuples) that a predicate keeps."""

    predicate = models.TextField(unique=True)
    """Names streams, not aliases: `departures.origin = weather.origin`."""
    value = models.FloatField()

    class Meta:
        ordering = ("predicate",)

    def __str__(self) -> str:
        return f"{self.predicate}: {self.value:g}"
