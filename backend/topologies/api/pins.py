from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.catalog.models import Query
from backend.topologies import pins, placement


class PinSerializer(serializers.Serializer[Any]):
    """The topology to which a query is pinned."""

    topology = serializers.RegexField(
        r"\A[a-z][a-z0-9_-]{0,62}\Z", allow_null=True, help_text="null: wherever the optimizer puts it"
    )


class QueryPinned(APIView):
    """Which topology must answer the query, if an operator said so."""

    @extend_schema(operation_id="query_pin", responses=PinSerializer)
    def get(self, request: Request, pk: int) -> Response:
        query = get_object_or_404(Query, pk=pk)
        return Response(PinSerializer({"topology": placement.pinned_to(query)}).data)

    @extend_schema(operation_id="pin_query", request=PinSerializer, responses=PinSerializer)
    def put(self, request: Request, pk: int) -> Response:
        query = get_object_or_404(Query, pk=pk)
        form = PinSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        pins.pin_query(request.user, query, form.validated_data["topology"])
        return Response(PinSerializer({"topology": placement.pinned_to(query)}).data)
