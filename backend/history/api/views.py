from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.history.api.serializers import HistoryRequestSerializer, HistorySerializer
from backend.history.queries import history
from backend.http.documents import checked
from backend.topologies.queries import topologies
from backend.topologies.sight import sight_of


class TopologyHistory(APIView):
    """What a topology did, for months back."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[HistoryRequestSerializer], responses=HistorySerializer)
    def get(self, request: Request, name: str) -> Response:
        asked = checked(HistoryRequestSerializer(data=request.query_params)).validated_data
        topology = get_object_or_404(topologies(request.user), name=name)
        sight = sight_of(request.user, topology)
        found = history(topology, asked["from"], asked["to"], timezone.now(), sight)
        return Response(HistorySerializer(found).data)
