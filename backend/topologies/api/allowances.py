from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.catalog.models import Query
from backend.topologies import allowances


class AllowanceSerializer(serializers.Serializer[Any]):
    """Whether a query may cost more than its team's limits say."""

    allowed = serializers.BooleanField()


class QueryAllowed(APIView):
    """An operator's word that the limits do not hold for the query."""

    @extend_schema(operation_id="query_allowance", responses=AllowanceSerializer)
    def get(self, request: Request, pk: int) -> Response:
        query = get_object_or_404(Query, pk=pk)
        return Response(AllowanceSerializer({"allowed": allowances.is_allowed(query)}).data)

    @extend_schema(operation_id="allow_query", request=AllowanceSerializer, responses=AllowanceSerializer)
    def put(self, request: Request, pk: int) -> Response:
        query = get_object_or_404(Query, pk=pk)
        form = AllowanceSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        allowances.allow_query(request.user, query, form.validated_data["allowed"])
        return Response(AllowanceSerializer({"allowed": allowances.is_allowed(query)}).data)
