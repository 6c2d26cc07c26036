from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from backend.streams.models import Stream

NAME = RegexValidator(
    r"\A[a-z][a-z0-9_-]{0,62}\Z", "lower-case letters, digits, _ and -, starting with a letter, at most 63"
)


class Tag(models.Model):
    name = models.CharField(max_length=40, unique=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Query(models.Model):
    """A named query; its text lives in its versions."""

    name = models.CharField(max_length=63, unique=True, validators=[NAME])
    description = models.TextField(blank=True, default="")
    tags = models.ManyToManyField(Tag, related_name="queries", blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="queries")
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, null=True, blank=True, related_name="queries"
    )
    """Whose authors may change it too."""
    favourite_of = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="favourite_queries", blank=True
    )
    current = models.ForeignKey("QueryVersion", on_delete=models.PROTECT, null=True, related_name="+")
    """The newest version; null only while the query is being created."""
    chart = models.TextField(blank=True, default="")
    """`backend.live.chart.Chart` as JSON; empty without one."""
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "queries"

    def __str__(self) -> str:
        return self.name


class QueryVersion(models.Model):
    """One text of a query; never changed once written.

    What it reads is pinned: streams by name (a stream that is read cannot change its columns)
    and views by their version at the time, so a view's new version changes no other query.
    """

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    sql = models.TextField()
    reads = models.ManyToManyField("self", symmetrical=False, related_name="read_by", blank=True)
    """Versions of other queries that the text reads as views."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("query", "-number")
        constraints = (models.UniqueConstraint(fields=("query", "number"), name="version_number"),)

    def __str__(self) -> str:
        return f"{self.query.name} v{self.number}"


class VersionInput(models.Model):
    """An input of a version with views flattened, as `optimizer.logical.query.Input`."""

    version = models.ForeignKey(QueryVersion, on_delete=models.CASCADE, related_name="inputs")
    alias = models.CharField(max_length=255)
    stream = models.ForeignKey(Stream, on_delete=models.PROTECT, related_name="readers")
    window_ms = models.FloatField(null=True)
    """None is unbounded."""

    class Meta:
        ordering = ("version", "alias")


class VersionOutput(models.Model):
    """A column of a version's result."""

    version = models.ForeignKey(QueryVersion, on_delete=models.CASCADE, related_name="outputs")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=255)
    type = models.CharField(max_length=16)

    class Meta:
        ordering = ("version", "position")
