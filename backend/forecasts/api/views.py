from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.forecasts import queries
from backend.forecasts.api.serializers import ForecastsRequestSerializer, ForecastsSerializer
from backend.http.documents import checked


class Forecasts(APIView):
    """How often forecasts of state held."""

    reads = Reads.SEVERAL

    @extend_schema(parameters=[ForecastsRequestSerializer], responses=ForecastsSerializer)
    def get(self, request: Request) -> Response:
        form = checked(ForecastsRequestSerializer(data=request.query_params))
        topology, limit = form.validated_data["topology"], form.validated_data["limit"]
        document = {
            **asdict(queries.hit_rate(request.user, topology)),
            "newest": queries.forecasts(request.user, topology)[:limit],
        }
        return Response(ForecastsSerializer(document).data)
