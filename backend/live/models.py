from __future__ import annotations

from django.db import models

from backend.topologies.models import Topology


class LiveRecord(models.Model):
    """The fold of a topology's events up to `last_event_id`; reading folds the rest.

    `last_event_id` is the consumer's cursor too: it advances by compare-and-set, in one
    transaction with everything that the events change.
    """

    topology = models.OneToOneField(Topology, on_delete=models.CASCADE, related_name="live")
    last_event_id = models.CharField(max_length=42, default="0-0")
    state = models.TextField(blank=True, default="")
    """`backend.live.state.LiveState` as JSON; empty before the first event."""
