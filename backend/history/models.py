from __future__ import annotations

from django.db import models

from backend.history.measures import MEASURES, Measures
from backend.topologies.models import Topology


class HistoryCursor(models.Model):
    """How far a topology's events were taken into its periods.

    Its fields are those of `backend.history.progress.Progress`. It advances by compare-and-set, in one
    transaction with the periods that the events change.
    """

    topology = models.OneToOneField(Topology, on_delete=models.CASCADE, related_name="history_cursor")
    last_event_id = models.CharField(max_length=42, default="0-0")
    run = models.CharField(max_length=64, blank=True, default="")
    batch = models.BigIntegerField(default=-1)
    epoch = models.BigIntegerField(default=-1)
    switch = models.BigIntegerField(default=-1)
    plan_id = models.CharField(max_length=100, null=True)  # unknown is not empty
    state_tuples = models.BigIntegerField(null=True)
    state_bytes = models.BigIntegerField(null=True)


class HistoryPeriod(models.Model):
    """What a topology did in a minute, ten minutes or an hour.

    Its fields are those of `backend.history.measures.Measures`. There is none for a time in which no job of
    it was there.
    """

    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="periods")
    resolution = models.PositiveIntegerField()
    """Seconds."""
    start = models.DateTimeField()
    """A multiple of the resolution since 1970, inclusive."""
    batches = models.BigIntegerField()
    seconds = models.FloatField()
    tuples_in = models.BigIntegerField()
    results = models.BigIntegerField()
    late = models.BigIntegerField()
    undecodable = models.BigIntegerField()
    backlog = models.BigIntegerField(null=True)
    latency_ms_p50 = models.FloatField(null=True)
    latency_ms_p99 = models.FloatField(null=True)
    state_tuples = models.BigIntegerField(null=True)
    state_bytes = models.BigIntegerField(null=True)
    epochs = models.BigIntegerField()
    cores_of_epochs = models.FloatField()
    plan_id = models.CharField(max_length=100, null=True)  # unknown is not empty
    switches = models.BigIntegerField()

    class Meta:
        ordering = ("topology", "resolution", "start")
        constraints = (
            models.UniqueConstraint(fields=("topology", "resolution", "start"), name="one_period"),
        )

    def __str__(self) -> str:
        return f"{self.topology}: {self.resolution} s from {self.start}"

    @property
    def measures(self) -> Measures:
        """What is stored of it."""
        return Measures(**{name: getattr(self, name) for name in MEASURES})
