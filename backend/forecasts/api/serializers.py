from __future__ import annotations

from rest_framework import serializers

from backend.forecasts.models import Forecast
from backend.http.documents import Document, Form


class ForecastsRequestSerializer(Form):
    topology = serializers.CharField(default="", allow_blank=True, max_length=63)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)


class ForecastSerializer(serializers.ModelSerializer[Forecast]):
    """How many tuples the stores that a query needs were forecast to hold, and held."""

    query = serializers.CharField(source="query.name")
    topology = serializers.CharField(source="topology.name")
    state = serializers.ChoiceField(choices=Forecast.State.choices)

    class Meta:
        model = Forecast
        fields = (
            "query",
            "version",
            "topology",
            "plan_id",
            "made_at",
            "low",
            "expected",
            "high",
            "state",
            "observed",
            "judged_at",
        )
        read_only_fields = fields


class ForecastsSerializer(Document):
    """How often forecasts of state held, of all ever made, and the newest of them."""

    judged = serializers.IntegerField()
    held = serializers.IntegerField()
    open = serializers.IntegerField(help_text="their windows are not full yet")
    overtaken = serializers.IntegerField(help_text="their plan was exchanged before")
    newest = ForecastSerializer(many=True)
