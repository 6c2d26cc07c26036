"""How a topology's queries are planned."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.deployments.planner_settings import set_planner
from backend.http.documents import Document, checked
from backend.http.settings_field import SettingsField
from backend.topologies.models import Topology
from backend.topologies.queries import topologies
from optimizer.algebra.settings import schema
from optimizer.planner.settings import PlannerSettings


class PlannerSerializer(Document):
    settings = SettingsField(PlannerSettings, help_text="those that are left out have their defaults")
    described = serializers.DictField(read_only=True, help_text="the JSON Schema of the settings")


@extend_schema_view(
    get=extend_schema(operation_id="topology_planner", responses=PlannerSerializer),
    put=extend_schema(
        operation_id="set_topology_planner", request=PlannerSerializer, responses=PlannerSerializer
    ),
)
class TopologyPlanner(APIView):
    """The settings of the planner, the same as of `python -m optimizer plan`."""

    reads = Reads.TOPOLOGY

    def get(self, request: Request, name: str) -> Response:
        return self._answer(get_object_or_404(topologies(request.user), name=name))

    def put(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(topologies(request.user), name=name)
        form = checked(PlannerSerializer(data=request.data))
        set_planner(request.user, topology, form.validated_data["settings"])
        return self._answer(topologies(request.user).get(name=name))

    def _answer(self, topology: Topology) -> Response:
        found = {"settings": topology.planner_settings, "described": schema(PlannerSettings)}
        return Response(PlannerSerializer(found).data)
