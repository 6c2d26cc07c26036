"""The memory limit of a topology."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.deployments import memory_limit
from backend.deployments.api.serializers import TopologySerializer, shown_topology
from backend.http.documents import Form, checked
from backend.topologies.queries import topologies


class MemoryLimitSerializer(Form):
    memory_limit_bytes = serializers.IntegerField(
        allow_null=True,
        help_text=f"from {memory_limit.SMALLEST_BYTES} to {memory_limit.LARGEST_BYTES}; null: no limit",
    )


class TopologyMemory(APIView):
    """How much of the stores may be in memory, from the next start of the job on."""

    reads = Reads.TOPOLOGY

    @extend_schema(
        operation_id="set_topology_memory_limit",
        request=MemoryLimitSerializer,
        responses=TopologySerializer,
    )
    def put(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(topologies(request.user), name=name)
        form = checked(MemoryLimitSerializer(data=request.data))
        memory_limit.set_memory_limit(request.user, topology, form.validated_data["memory_limit_bytes"])
        return Response(shown_topology(request, topologies(request.user).get(name=name)))
