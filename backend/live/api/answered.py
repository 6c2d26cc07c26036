"""The queries that a topology answers, as documents."""

from __future__ import annotations

from rest_framework import serializers

from backend.applied.api.serializers import AppliedQuerySerializer, applied
from backend.http.documents import Document
from backend.oracle.api.serializers import CorrectnessSerializer, correctness
from backend.topologies.models import Topology
from backend.topologies.queries import pinned_topology
from backend.topologies.sight import Sight
from backend.topologies.status import suspension_reason


class TopologyQuerySerializer(Document):
    id = serializers.IntegerField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    suspended = serializers.CharField(allow_null=True, help_text="why it is not answered; null if it is")
    correctness = CorrectnessSerializer(allow_null=True, help_text="null: not checked yet")
    applied = AppliedQuerySerializer(allow_null=True, help_text="null: no directory has it")
    pinned = serializers.CharField(
        allow_null=True, help_text="the topology to which an operator pinned it; null: wherever it is put"
    )


def deployed_queries(record: Topology, sight: Sight) -> list[dict[str, object]]:
    """The queries of a topology that are seen, each in its deployed version."""
    return [
        {
            "id": one.query_id,
            "name": one.query.name,
            "version": one.version.number,
            "suspended": suspension_reason(one),
            "correctness": correctness(one),
            "applied": applied(one.query, one),
            "pinned": pinned_topology(one.query),
        }
        for one in record.deployed.all()
        if sight.reads(one.query.name)
    ]


def other_queries(record: Topology, sight: Sight) -> int:
    """How many there are besides."""
    return sum(not sight.reads(one.query.name) for one in record.deployed.all())
