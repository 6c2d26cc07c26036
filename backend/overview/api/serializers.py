from __future__ import annotations

from typing import Any

from rest_framework import serializers

from backend.dead_letters.queries import Kept
from backend.deployments.api.serializers import TopologySerializer
from backend.http.documents import Document
from backend.live.api.declared import DeclaredField
from backend.live.state import LiveState
from backend.overview.queries import NewestResult, Own, Watched

_LIVE = ("heartbeat_at", "given_up", "failed_batch", "waiting_batch", "history")
"""The parts of a snapshot that the page shows."""


class WatchedSerializer(serializers.Serializer[Watched]):
    """A topology, and the newest batches of its run."""

    topology = TopologySerializer()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared = {name: DeclaredField(LiveState.model_fields[name].annotation) for name in _LIVE}
        return {**super().get_fields(), **declared}

    def to_representation(self, instance: Watched) -> dict[str, Any]:
        # pydantic's JSON form is also that of the snapshot.
        live = instance.live.model_dump(mode="json", include=set(_LIVE))
        shown = TopologySerializer(instance.topology, context={"sights": instance.sights}).data
        return {"topology": shown, **live}


class NewestResultSerializer(serializers.Serializer[NewestResult]):
    topology = serializers.CharField()
    query = serializers.IntegerField()
    name = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True, help_text="wall time of its commit; null without one")
    row = serializers.DictField(child=serializers.JSONField(allow_null=True), allow_null=True)


class KeptLettersSerializer(serializers.Serializer[Kept]):
    topology = serializers.CharField()
    stream = serializers.CharField()
    kept = serializers.IntegerField()
    newest = serializers.DateTimeField(help_text="wall time of the newest one")


class OwnSerializer(serializers.Serializer[Own]):
    streams = serializers.IntegerField(help_text="of all that the account reads")
    queries = serializers.IntegerField(help_text="of the account")
    deployed = serializers.IntegerField(help_text="of those")


class OverviewSerializer(Document):
    """All topologies by name; of the first queries the newest result each."""

    at = serializers.DateTimeField()
    topologies = WatchedSerializer(source="found.topologies", many=True)
    results = NewestResultSerializer(source="found.results", many=True)
    dead_letters = KeptLettersSerializer(source="found.dead_letters", many=True)
    own = OwnSerializer(source="found.own")
