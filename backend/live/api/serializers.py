from __future__ import annotations

from collections.abc import Sequence

from rest_framework import serializers

from backend.documents import Document, Form
from backend.live.arrivals import Arrivals, Point
from backend.live.provenance import Bound, Provenance, Step
from backend.live.state import LIVE_STATE_CHOICES
from backend.topologies.api.serializers import TopologyQuerySerializer


class HistoryPointSerializer(Document):
    batch = serializers.IntegerField()
    at = serializers.DateTimeField()
    epoch = serializers.IntegerField()
    seconds = serializers.FloatField()
    tuples_in = serializers.IntegerField()
    backlog = serializers.IntegerField(allow_null=True)
    results = serializers.IntegerField()
    latency_ms_p50 = serializers.FloatField(allow_null=True)
    latency_ms_p99 = serializers.FloatField(allow_null=True)
    state_bytes = serializers.IntegerField()
    state_tuples = serializers.IntegerField()
    level_seconds = serializers.ListField(child=serializers.FloatField())


class StorePointSerializer(Document):
    tuples = serializers.IntegerField()
    bytes = serializers.IntegerField()
    inserted = serializers.IntegerField()
    evicted = serializers.IntegerField()
    probes = serializers.IntegerField()
    matches = serializers.IntegerField()


class StoresPointSerializer(Document):
    batch = serializers.IntegerField()
    stores = serializers.DictField(child=StorePointSerializer())


class SwitchSerializer(Document):
    at = serializers.DateTimeField()
    plan_id = serializers.CharField()
    epoch = serializers.IntegerField()
    batch = serializers.IntegerField()
    cause = serializers.CharField()


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
    """A result's path: the tuple that came last, then the stores that it probed in order."""

    topology = serializers.CharField()
    plan_id = serializers.CharField()
    batch = serializers.IntegerField()
    arrival = serializers.CharField(help_text="the start's arrival number; may exceed 53 bits")
    source = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    start = BoundTupleSerializer()
    start_filter = serializers.CharField(allow_null=True)
    steps = ProbedStoreSerializer(many=True)
    residuals = serializers.ListField(child=serializers.CharField())


class QErrorSerializer(Document):
    median = serializers.FloatField()
    max = serializers.FloatField()
    worst = serializers.CharField(help_text="the edge or rule that is furthest off")
    estimated = serializers.FloatField(help_text="of it, tuples per second of event time")
    actual = serializers.FloatField()


class EpochPointSerializer(Document):
    epoch = serializers.IntegerField()
    at = serializers.DateTimeField()
    plan_id = serializers.CharField()
    first_batch = serializers.IntegerField()
    last_batch = serializers.IntegerField()
    event_seconds = serializers.FloatField()
    sent = serializers.IntegerField()
    q_error = QErrorSerializer(allow_null=True)


class FailedBatchSerializer(Document):
    at = serializers.DateTimeField()
    batch = serializers.IntegerField()
    error = serializers.CharField()
    set_aside = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="tuples by stream; empty while they are searched for",
    )


class GivenUpSerializer(Document):
    at = serializers.DateTimeField()
    plan_id = serializers.CharField()
    batch = serializers.IntegerField()


class SnapshotSerializer(Document):
    """What a topology does now; apply the events after `last_event_id` to keep it fresh."""

    last_event_id = serializers.CharField()
    state = serializers.ChoiceField(choices=LIVE_STATE_CHOICES)
    error = serializers.CharField(allow_null=True)
    run = serializers.CharField(allow_null=True)
    plan_id = serializers.CharField(allow_null=True)
    epoch = serializers.IntegerField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    batch = serializers.DictField(allow_null=True, help_text="the newest BatchCompleted of jobs.protocol")
    history = HistoryPointSerializer(many=True)
    store_history = StoresPointSerializer(many=True)
    switches = SwitchSerializer(many=True)
    given_up = GivenUpSerializer(allow_null=True, help_text="the batch that waits for another plan")
    failed_batch = FailedBatchSerializer(
        allow_null=True, help_text="the newest batch that failed repeatedly, and what of it was set aside"
    )
    epochs = EpochPointSerializer(many=True)
    statistics = serializers.DictField(
        allow_null=True, help_text="the newest EpochCompleted of jobs.protocol, of the newest run"
    )
    queries = TopologyQuerySerializer(many=True)
