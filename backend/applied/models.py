from __future__ import annotations

from django.conf import settings
from django.db import models

from backend.catalog.models import Query
from backend.streams.models import Stream
from backend.topologies.models import Topology


class LastApplied(models.Model):
    """Something as a directory last wanted it."""

    directory = models.CharField(max_length=63)
    """By name; a directory prunes only what was last applied from it."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()

    class Meta:
        abstract = True


class AppliedQuery(LastApplied):
    """A query as a directory last wanted it."""

    query = models.OneToOneField(Query, on_delete=models.CASCADE, related_name="applied")
    sql = models.TextField()
    version = models.PositiveIntegerField()
    """The number of the version that this text, with what it reads, was written as."""
    topology = models.CharField(max_length=63, blank=True, default="")
    """Empty if none was to answer it."""
    description = models.TextField(blank=True, default="")
    tags = models.JSONField(default=list)
    """Names, sorted."""

    class Meta:
        ordering = ("query__name",)
        verbose_name_plural = "applied queries"

    def __str__(self) -> str:
        return f"{self.query} from {self.directory}"


class AppliedStream(LastApplied):
    """A stream as a directory last wanted it."""

    stream = models.OneToOneField(Stream, on_delete=models.CASCADE, related_name="applied")
    description = models.JSONField()
    """`backend.applied.drift.spec_document`."""

    class Meta:
        ordering = ("stream__name",)

    def __str__(self) -> str:
        return f"{self.stream} from {self.directory}"


class AppliedJob(LastApplied):
    """The settings of a topology's job as a directory last wanted them."""

    topology = models.OneToOneField(Topology, on_delete=models.CASCADE, related_name="applied")
    said = models.JSONField()
    """The settings that the directory speaks of, by name."""

    class Meta:
        ordering = ("topology__name",)

    def __str__(self) -> str:
        return f"job of {self.topology} from {self.directory}"
