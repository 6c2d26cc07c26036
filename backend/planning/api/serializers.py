from __future__ import annotations

from rest_framework import serializers

from backend.catalog.api.serializers import DraftSerializer
from backend.http.documents import Document, Form


class CostSerializer(Document):
    """Cost by kind: millionths of a core; by messages, probe tuples per second."""

    probe = serializers.FloatField()
    storage = serializers.FloatField()
    latency = serializers.FloatField()
    total = serializers.FloatField()


class SecondsSerializer(Document):
    build = serializers.FloatField()
    solve = serializers.FloatField()


class PlanSerializer(Document):
    plan_id = serializers.CharField()
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")
    cost = CostSerializer()
    individual_cost = serializers.FloatField()
    method = serializers.CharField()
    status = serializers.CharField()
    bound = serializers.FloatField(allow_null=True)
    gap = serializers.FloatField(allow_null=True)
    seconds = SecondsSerializer()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class MarginalSerializer(Document):
    """What this query adds to a topology's plan."""

    topology = serializers.CharField()
    text = serializers.CharField(help_text="in one line")
    reuse = serializers.CharField(help_text="the steps that it shares, and with which query")
    cost = CostSerializer()
    stores_new = serializers.IntegerField()
    stores_shared = serializers.IntegerField()
    probes_new = serializers.IntegerField()
    probes_shared = serializers.IntegerField()
    probe_percent = serializers.FloatField(allow_null=True)


class ExplanationSerializer(Document):
    text = serializers.CharField()
    cost = CostSerializer()
    individual_cost = serializers.FloatField()
    method = serializers.CharField()
    status = serializers.CharField()
    bound = serializers.FloatField(allow_null=True)
    gap = serializers.FloatField(allow_null=True)
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")
    marginal = MarginalSerializer(allow_null=True)


class PlanFilterSerializer(Form):
    plan_id = serializers.CharField(default="", allow_blank=True, max_length=100)


class ExplainRequestSerializer(DraftSerializer):
    topology = serializers.CharField(allow_null=True, default=None, max_length=63)


class IntervalSerializer(Document):
    """If all statistics lie low, as expected, or high."""

    low = serializers.FloatField()
    expected = serializers.FloatField()
    high = serializers.FloatField()


class ForecastStoreSerializer(Document):
    label = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    kept = serializers.BooleanField(help_text="it is there already, only not for as long")
    tuples = IntervalSerializer()
    bytes = IntervalSerializer()
    measured = serializers.BooleanField(
        help_text="bytes follow what running stores take per tuple; else the columns' types"
    )


class WindowChangeSerializer(Document):
    alias = serializers.CharField()
    stream = serializers.CharField()
    present_ms = serializers.FloatField()
    proposed_ms = serializers.FloatField()


class AdviceSerializer(Document):
    """Windows that another query has already.

    Longer ones cost nothing more, or shorter ones cost less.
    """

    longer = serializers.BooleanField(help_text="all are longer; else all are shorter")
    windows = WindowChangeSerializer(many=True)
    like = serializers.CharField(help_text="the query that has these windows")
    saved_probe = serializers.FloatField(help_text="tuples per second that need not be sent")
    saved_storage = serializers.FloatField(help_text="stored tuples, weighted")
    saved_percent = serializers.FloatField(help_text="of what the query adds as it stands")
    steps = serializers.IntegerField()
    shared_before = serializers.IntegerField()
    shared_after = serializers.IntegerField()


class OutlookSerializer(Document):
    topology = serializers.CharField(allow_null=True)
    stores = ForecastStoreSerializer(many=True)
    advice = AdviceSerializer(many=True)
