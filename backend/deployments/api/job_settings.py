"""How a topology's job works."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.applied.api.serializers import AppliedJobSerializer, applied_job
from backend.deployments.job_settings import set_job
from backend.http.documents import Document, checked
from backend.http.settings_field import SettingsField
from backend.topologies.job_settings import JobSettings
from backend.topologies.models import ENDED, Topology
from backend.topologies.queries import topologies
from backend.topologies.sight import sight_of
from optimizer.algebra.settings import schema


class JobSerializer(Document):
    settings = SettingsField(JobSettings, help_text="those that are left out have their defaults")
    running = SettingsField(
        JobSettings, read_only=True, allow_null=True, help_text="of the process that runs; null if none does"
    )
    applied = AppliedJobSerializer(
        read_only=True, allow_null=True, help_text="null: no directory speaks of the job"
    )
    described = serializers.DictField(read_only=True, help_text="the JSON Schema of the settings")


@extend_schema_view(
    get=extend_schema(operation_id="topology_job", responses=JobSerializer),
    put=extend_schema(operation_id="set_topology_job", request=JobSerializer, responses=JobSerializer),
)
class TopologyJob(APIView):
    """The settings of the job from its next start on."""

    reads = Reads.TOPOLOGY

    def get(self, request: Request, name: str) -> Response:
        return self._answer(self._topology(request, name))

    def put(self, request: AccountRequest, name: str) -> Response:
        topology = self._topology(request, name)
        form = checked(JobSerializer(data=request.data))
        set_job(request.user, topology, form.validated_data["settings"])
        return self._answer(self._topology(request, name))

    def _topology(self, request: Request, name: str) -> Topology:
        """How the topology's job works.

        Settings name the queries whose results go to a sink, so they are for those who read all of them.
        """
        found = get_object_or_404(topologies(request.user), name=name)
        if not sight_of(request.user, found).is_whole:
            raise Http404("they may name queries of other teams")
        return found

    def _answer(self, topology: Topology) -> Response:
        run = topology.current_run
        found = {
            "settings": topology.job_settings,
            "running": None if run is None or run.state in ENDED else run.job_settings,
            "applied": applied_job(topology),
            "described": schema(JobSettings),
        }
        return Response(JobSerializer(found).data)
