from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.live.api.serializers import SnapshotSerializer
from backend.live.queries import live_state
from backend.topologies.api.serializers import deployed_queries
from backend.topologies.queries import topologies


class Snapshot(APIView):
    """What the topology does now."""

    @extend_schema(responses=SnapshotSerializer)
    def get(self, request: Request, name: str) -> Response:
        topology = get_object_or_404(topologies(), name=name)
        # pydantic's JSON form is also that of the events, so both sides of the fold look alike.
        document = live_state(topology).model_dump(mode="json", exclude={"version"})
        return Response({**document, "queries": deployed_queries(topology)})
