from __future__ import annotations

from django.db import models

from backend.catalog.models import Query
from backend.topologies.models import Topology, TopologyQuery


class Verdict(models.TextChoices):
    EQUAL = "equal", "equal"
    DIFFERS = "differs", "differs"
    UNCHECKED = "unchecked", "unchecked"


class Check(models.Model):
    """One comparison of published results with DuckDB's, never changed once written.

    What is compared are the results whose last tuple arrived in the batches `first_batch` to
    `last_batch`: once a batch is committed, nothing that comes later adds to them.
    """

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="checks")
    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="checks")
    version = models.PositiveIntegerField()
    """The query's deployed version."""
    plan_id = models.CharField(max_length=100)
    """The plan of the last batch."""
    at = models.DateTimeField()
    verdict = models.CharField(max_length=9, choices=Verdict.choices)
    reason = models.TextField(blank=True, default="")
    """Why nothing could be compared; empty otherwise."""
    first_batch = models.BigIntegerField(null=True)
    last_batch = models.BigIntegerField(null=True)
    event_from = models.DateTimeField(null=True)
    """The oldest event time that arrived in these batches; null if nothing did."""
    event_to = models.DateTimeField(null=True)
    tuples = models.PositiveIntegerField(default=0)
    """Joined for the comparison, those that arrived earlier within the windows too."""
    results = models.PositiveIntegerField(default=0)
    """Published, as the job counted them."""
    expected = models.PositiveIntegerField(default=0)
    """DuckDB's."""
    compared = models.PositiveIntegerField(default=0)
    """Results that were compared by their values; the others only by their number."""
    missing = models.PositiveIntegerField(default=0)
    extra = models.PositiveIntegerField(default=0)
    examples = models.TextField(blank=True, default="")
    """`backend.oracle.comparison.Examples`, as JSON; empty unless it differs."""
    share = models.FloatField(default=1.0)
    """Of all results, the part that belongs to the keys which were compared; 1 for all of them."""
    seconds = models.FloatField(default=0.0)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.query} {self.at:%Y-%m-%d %H:%M:%S}: {self.verdict}"


class Light(models.Model):
    """What the checks of a deployed query came to. It goes with the deployment."""

    deployment = models.OneToOneField(TopologyQuery, on_delete=models.CASCADE, related_name="light")
    newest = models.ForeignKey(Check, on_delete=models.CASCADE, related_name="+")
    differed_at = models.DateTimeField(null=True)
    """When this version last differed; null if it never did."""

    def __str__(self) -> str:
        return f"{self.deployment.query}: {self.newest.verdict}"
