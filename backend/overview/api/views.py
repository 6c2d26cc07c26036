from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.overview.api.serializers import OverviewSerializer
from backend.overview.queries import overview


class OverviewDetail(APIView):
    """What all topologies do now, their newest results, and what they turned away."""

    reads = Reads.SEVERAL

    @extend_schema(responses=OverviewSerializer)
    def get(self, request: AccountRequest) -> Response:
        return Response(OverviewSerializer({"at": timezone.now(), "found": overview(request.user)}).data)
