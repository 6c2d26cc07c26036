from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.catalog.queries import readable_queries
from backend.http.documents import checked
from backend.oracle.api.serializers import CheckSerializer
from backend.oracle.queries import checks_of
from backend.streams.api.serializers import SampleLimitSerializer


class QueryChecks(APIView):
    """The newest checks of a query, newest first."""

    reads = Reads.QUERY

    @extend_schema(parameters=[SampleLimitSerializer], responses=CheckSerializer(many=True))
    def get(self, request: Request, pk: int) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        query = get_object_or_404(readable_queries(request.user), pk=pk)
        return Response(CheckSerializer(checks_of(query.pk, form.validated_data["limit"]), many=True).data)
