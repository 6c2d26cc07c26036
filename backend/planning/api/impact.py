"""Endpoints that say what a change would reach, before it is made."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.planning import impact
from backend.streams.queries import streams
from backend.topologies import queries
from backend.topologies.query_search import queries as catalog_queries
from backend.topologies.status import STATUS_CHOICES


class ReachedQuerySerializer(serializers.Serializer[impact.ReachedQuery]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField()
    owner_is_service = serializers.BooleanField()
    status = serializers.ChoiceField(choices=STATUS_CHOICES)
    pinned_version = serializers.IntegerField(
        allow_null=True, help_text="the version that it goes on reading; null if it is reached directly"
    )


class ReachedStoreSerializer(serializers.Serializer[impact.ReachedStore]):
    topology = serializers.CharField()
    id = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    used_by = serializers.ListField(child=serializers.CharField())
    released = serializers.BooleanField(help_text="nothing else needs it")
    tuples = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField(allow_null=True)


class ImpactSerializer(serializers.Serializer[impact.Impact]):
    queries = ReachedQuerySerializer(many=True)
    topologies = serializers.ListField(child=serializers.CharField())
    stores = ReachedStoreSerializer(many=True)


class QueryImpact(APIView):
    """What undeploying, changing or deleting a query reaches."""

    reads = Reads.QUERY

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, pk: int) -> Response:
        found = impact.of_query(request.user, get_object_or_404(catalog_queries(request.user), pk=pk))
        return Response(ImpactSerializer(found).data)


class StreamImpact(APIView):
    """Who reads a stream, and which stores keep it."""

    reads = Reads.STREAM

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, name: str) -> Response:
        found = impact.of_stream(request.user, get_object_or_404(streams(request.user), name=name).name)
        return Response(ImpactSerializer(found).data)


class TopologyImpact(APIView):
    """What a stop reaches."""

    reads = Reads.TOPOLOGY

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, name: str) -> Response:
        found = impact.of_topology(
            request.user, get_object_or_404(queries.topologies(request.user), name=name)
        )
        return Response(ImpactSerializer(found).data)
