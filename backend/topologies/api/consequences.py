"""Endpoints that say what would be: the blast radius of a change, and other methods' plans."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.bounded.caller import caller_of
from backend.catalog.queries import queries as catalog_queries
from backend.documents import checked
from backend.streams.queries import streams
from backend.topologies import alternatives, impact, queries
from backend.topologies.api.serializers import CostSerializer, PlanFilterSerializer
from backend.topologies.drafting import Alternative
from backend.topologies.status import STATUS_CHOICES


class ReachedQuerySerializer(serializers.Serializer[impact.ReachedQuery]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField()
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


class AlternativeSerializer(serializers.Serializer[Sequence[Alternative]]):
    """The same queries, planned by another method."""

    method = serializers.CharField()
    cost = CostSerializer()
    stores = serializers.IntegerField()
    steps = serializers.IntegerField()
    depth = serializers.IntegerField()
    seconds = serializers.FloatField()
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")


class QueryImpact(APIView):
    """What undeploying, changing or deleting a query reaches."""

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, pk: int) -> Response:
        found = impact.of_query(get_object_or_404(catalog_queries(), pk=pk))
        return Response(ImpactSerializer(found).data)


class StreamImpact(APIView):
    """Who reads a stream, and which stores keep it."""

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, name: str) -> Response:
        found = impact.of_stream(get_object_or_404(streams(), name=name).name)
        return Response(ImpactSerializer(found).data)


class TopologyImpact(APIView):
    """What a stop reaches."""

    @extend_schema(responses=ImpactSerializer)
    def get(self, request: Request, name: str) -> Response:
        found = impact.of_topology(get_object_or_404(queries.topologies(), name=name))
        return Response(ImpactSerializer(found).data)


class TopologyAlternatives(APIView):
    """What other methods would make of a plan's queries."""

    @extend_schema(parameters=[PlanFilterSerializer], responses=AlternativeSerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        form = checked(PlanFilterSerializer(data=request.query_params))
        topology = get_object_or_404(queries.topologies(), name=name)
        plan = queries.find_plan(topology, form.validated_data["plan_id"])
        if plan is None:
            raise Http404("no such plan")
        found = alternatives.alternatives_of(caller_of(request), plan)
        return Response(AlternativeSerializer(found, many=True).data)
