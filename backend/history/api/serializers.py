from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from backend.history.queries import History, Period, Switch
from backend.history.resolutions import whole_seconds
from backend.http.documents import Form
from backend.live.api.declared import DeclaredField

_PAST = timedelta(days=1)


class HistoryRequestSerializer(Form):
    """A stretch of time; `from`, which is a keyword of Python's, is said below."""

    to = serializers.DateTimeField(required=False, help_text="exclusive; now if absent")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        begin = serializers.DateTimeField(required=False, help_text="inclusive; a day before `to` if absent")
        return {"from": begin, **super().get_fields()}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        end = attrs.get("to", timezone.now())
        try:
            begin = attrs.get("from", end - _PAST)
        except OverflowError:
            begin = end
        if begin >= end:
            raise serializers.ValidationError({"from": f"{begin} is not before {end}"})
        return {"from": begin, "to": end}


class HistorySwitchSerializer(serializers.Serializer[Switch]):
    at = serializers.DateTimeField()
    plan_id = serializers.CharField()
    cause = serializers.CharField()


class HistorySerializer(serializers.Serializer[History]):
    """What a topology did from `from` to `to`, in periods of `resolution`.

    A time in which no job was there has no period.
    """

    to = serializers.DateTimeField(source="end", help_text="exclusive; not behind now")
    resolution = serializers.SerializerMethodField(help_text="length of a period, seconds")
    since = serializers.DateTimeField(
        allow_null=True, help_text="start of the oldest hour that is kept; null if there is none yet"
    )
    periods = DeclaredField(list[Period], help_text="oldest first, at most about 600")
    switches = HistorySwitchSerializer(many=True, help_text="oldest first, the newest 200")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        begin = serializers.DateTimeField(
            source="begin", help_text="inclusive; not before what may be kept, 400 days"
        )
        return {"from": begin, **super().get_fields()}

    def to_representation(self, instance: History) -> dict[str, Any]:
        # As JSON has it: a period has some fifteen numbers, and there are hundreds.
        return {**super().to_representation(instance), "periods": [asdict(one) for one in instance.periods]}

    def get_resolution(self, found: History) -> int:
        return whole_seconds(found.resolution)
