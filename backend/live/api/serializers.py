from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from backend.http.documents import Document, Form
from backend.live.api.answered import TopologyQuerySerializer
from backend.live.api.declared import DeclaredField
from backend.live.arrivals import Arrivals, Point
from backend.live.figures import Figures
from backend.live.results.provenance import Bound, Provenance, Step
from backend.live.state import LIVE_STATE_CHOICES, LiveState


class ArrivalsRequestSerializer(Form):
    limit = serializers.IntegerField(min_value=1, max_value=300, default=120)


class ArrivalPointSerializer(serializers.Serializer[Point]):
    batch = serializers.IntegerField()
    at = serializers.DateTimeField()
    seconds = serializers.FloatField(allow_null=True, help_text="since the batch before")
    accepted = serializers.IntegerField()
    late = serializers.IntegerField()
    undecodable = serializers.IntegerField()
    newest = serializers.DateTimeField(allow_null=True, help_text="the largest event time so far")
    watermark = serializers.DateTimeField(allow_null=True)
    behind_ms = serializers.FloatField(
        allow_null=True, help_text="event time behind the newest tuple of all streams of the topology"
    )


class ArrivalsSerializer(serializers.Serializer[Sequence[Arrivals]]):
    """What came of a stream lately, as one topology saw it; oldest batch first."""

    topology = serializers.CharField()
    points = ArrivalPointSerializer(many=True)


class ProvenanceRequestSerializer(Form):
    id = serializers.RegexField(r"\A[0-9]{1,19}-[0-9]{1,19}\Z", help_text="of the result, as in `ids`")


class BoundTupleSerializer(serializers.Serializer[Bound]):
    alias = serializers.CharField()
    stream = serializers.CharField()
    event_time = serializers.DateTimeField(allow_null=True)


class ProbedStoreSerializer(serializers.Serializer[Step]):
    rule = serializers.CharField()
    edge = serializers.CharField()
    kind = serializers.CharField(help_text="shuffle, group_by, all, slices or grid")
    level = serializers.IntegerField()
    store = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    found = BoundTupleSerializer(many=True)
    conditions = serializers.ListField(child=serializers.CharField())


class ProvenanceSerializer(serializers.Serializer[Provenance]):
    """A result's path: its newest tuple, then the stores that it probed, in order."""

    topology = serializers.CharField()
    plan_id = serializers.CharField()
    batch = serializers.IntegerField()
    arrival = serializers.CharField(help_text="the start's arrival number; may exceed 53 bits")
    source = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    start = BoundTupleSerializer()
    start_filter = serializers.CharField(allow_null=True)
    steps = ProbedStoreSerializer(many=True)
    residuals = serializers.ListField(child=serializers.CharField())


class FiguresSerializer(serializers.Serializer[Figures]):
    """What a deployed query does now; null is unknown."""

    batch = serializers.IntegerField(allow_null=True, help_text="the topology's newest")
    at = serializers.DateTimeField(allow_null=True, help_text="wall time of its commit")
    latency_ms_p50 = serializers.FloatField(
        allow_null=True, help_text="arrival of a tuple to commit of its results, over the last minute"
    )
    latency_ms_p99 = serializers.FloatField(allow_null=True)
    answered_until = serializers.DateTimeField(
        allow_null=True, help_text="event time that all of the query's streams have passed"
    )
    complete_since = serializers.DateTimeField(allow_null=True, help_text="event time; null while it fills")
    joining = serializers.ListField(
        child=serializers.CharField(), help_text="streams of which older tuples are still being read"
    )
    verified_until = serializers.DateTimeField(
        allow_null=True, help_text="event time up to which results were last equal to a batch join"
    )


class SnapshotRequestSerializer(Form):
    epoch = serializers.IntegerField(
        min_value=0, required=False, help_text="as it was when this epoch had ended"
    )


class SnapshotSerializer(Document):
    """What a topology does now, or did then.

    Apply the events after `last_event_id` to keep it fresh.
    """

    state = serializers.ChoiceField(choices=LIVE_STATE_CHOICES)
    queries = TopologyQuerySerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared = {
            name: DeclaredField(field.annotation, help_text=field.description or "")
            for name, field in LiveState.model_fields.items()
            if name != "version"
        }
        return {**declared, **super().get_fields()}
