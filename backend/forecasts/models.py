from __future__ import annotations

from django.db import models

from backend.catalog.models import Query
from backend.topologies.models import Topology


class Forecast(models.Model):
    """How many tuples the stores that a query needs will hold, said at its deployment.

    `low`, `expected` and `high` are as the editor shows them: if all statistics lie low, as expected,
    or high. Open until the windows are full under the plan that it was made for and some more batches
    were worked on; then `observed` says what the stores held on average over these.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        HELD = "held", "held"
        MISSED = "missed", "missed"
        OVERTAKEN = "overtaken", "overtaken"
        """Another plan keeps other stores before the windows were full."""

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="forecasts")
    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="forecasts")
    version = models.PositiveIntegerField()
    plan_id = models.CharField(max_length=100)
    made_at = models.DateTimeField()
    low = models.FloatField()
    expected = models.FloatField()
    high = models.FloatField()
    full_after_ms = models.FloatField()
    """Of event time, from the first batch under the plan until its windows are full."""
    began_at = models.DateTimeField(null=True)
    """Event time of the first batch under the plan; null before it."""
    full_batch = models.BigIntegerField(null=True)
    """The first batch with full windows; null before it."""
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    observed = models.BigIntegerField(null=True)
    judged_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.query} v{self.version}: {self.state}"


class ForecastStore(models.Model):
    """A store that a forecast is about."""

    forecast = models.ForeignKey(Forecast, on_delete=models.CASCADE, related_name="stores")
    store = models.CharField(max_length=100)
    """Its id in the plan."""

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.store
