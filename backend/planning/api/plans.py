"""A topology's plan, and what other methods would make of its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.bounded.caller import caller_of
from backend.http.documents import Document, checked
from backend.planning import alternatives, attribution
from backend.planning.api.serializers import CostSerializer, PlanFilterSerializer, PlanSerializer
from backend.planning.drafting import Alternative
from backend.topologies import queries
from backend.topologies.models import Plan
from backend.topologies.queries import seen_document
from backend.topologies.sight import OTHERS, Sight, sight_of


def _asked_for(request: Request, topology: str) -> Plan:
    """The plan that the request names, else the one that runs, or the newest."""
    form = checked(PlanFilterSerializer(data=request.query_params))
    plan = queries.find_plan(
        get_object_or_404(queries.topologies(request.user), name=topology), form.validated_data["plan_id"]
    )
    if plan is None:
        raise Http404("no such plan")
    return plan


def _sight(request: Request, plan: Plan) -> Sight:
    return sight_of(request.user, plan.topology)


class TopologyGraph(APIView):
    """The plan that runs, or the newest, or the one asked for."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[PlanFilterSerializer], responses=PlanSerializer)
    def get(self, request: Request, name: str) -> Response:
        plan = _asked_for(request, name)
        return Response(PlanSerializer(queries.plan_document(plan, _sight(request, plan))).data)


class AlternativeSerializer(serializers.Serializer[Sequence[Alternative]]):
    """The same queries, planned by another method."""

    method = serializers.CharField()
    cost = CostSerializer()
    stores = serializers.IntegerField()
    steps = serializers.IntegerField()
    depth = serializers.IntegerField()
    seconds = serializers.FloatField()
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")


class TopologyAlternatives(APIView):
    """What other methods would make of a plan's queries."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[PlanFilterSerializer], responses=AlternativeSerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        plan = _asked_for(request, name)
        sight = _sight(request, plan)
        found = alternatives.alternatives_of(caller_of(request), plan)
        if sight.queries is not None:
            found = tuple(replace(one, graph=seen_document(one.graph, sight)) for one in found)
        return Response(AlternativeSerializer(found, many=True).data)


class CostsSerializer(Document):
    """A plan's cost by part and by query.

    In millionths of a core, or in tuples per second.
    """

    unit = serializers.CharField(help_text="cores | messages")
    common = serializers.FloatField(help_text="on no query: batches as such, stores that none needs yet")
    streams = serializers.DictField(child=serializers.FloatField(), help_text="reading each stream")
    elements = serializers.DictField(
        child=serializers.FloatField(), help_text="by rule that receives tuples, and by store"
    )
    answers = serializers.DictField(child=serializers.FloatField(), help_text="writing each query's results")
    queries = serializers.DictField(
        child=serializers.FloatField(),
        help_text="what falls on each query: every part evenly on those that need it",
    )


class TopologyCosts(APIView):
    """What the parts of a plan cost, and each query's share."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[PlanFilterSerializer], responses=CostsSerializer)
    def get(self, request: Request, name: str) -> Response:
        plan = _asked_for(request, name)
        found = attribution.costs_of(caller_of(request), plan)
        unit, sight = plan.topology.planner_settings.cost, _sight(request, plan)
        seen = {
            **asdict(found),
            "streams": sight.by_stream(found.streams),
            "elements": sight.by_element(found.elements),
            "answers": sight.by_query(found.answers),
            "queries": {**sight.by_query(found.queries), **_others(found.queries, sight)},
        }
        return Response(CostsSerializer({**seen, "unit": unit}).data)


def _others(queries: Mapping[str, float], sight: Sight) -> dict[str, float]:
    """What falls on queries that are not read, together."""
    found = [cost for name, cost in queries.items() if not sight.reads(name)]
    return {OTHERS: sum(found)} if found else {}


class SavingSerializer(serializers.ModelSerializer[Plan]):
    """What a plan that took over by what was learnt was to save, and did."""

    class Meta:
        model = Plan
        fields = ("plan_id", "before", "predicted_saving", "actual_saving", "saving_epochs")
        read_only_fields = fields


class TopologySavings(APIView):
    """What its newest switches were to save, and did.

    Of cost, as tuples sent per second of event time: the same share of what the plan before sends.
    """

    reads = Reads.TOPOLOGY

    @extend_schema(responses=SavingSerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        topology = get_object_or_404(queries.topologies(request.user), name=name)
        return Response(SavingSerializer(queries.savings(topology), many=True).data)
