from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.catalog.queries import readable_queries
from backend.http.documents import Form, checked
from backend.live.chart import MARKS, Chart, keep_chart


class ChartSerializer(Form):
    """How a query's results are drawn."""

    mark = serializers.ChoiceField(choices=[(mark, mark) for mark in MARKS])
    x = serializers.CharField(max_length=255)
    y = serializers.CharField(max_length=255, allow_null=True, default=None, help_text="null for count")
    colour = serializers.CharField(max_length=255, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["mark"] == "count") != (attrs["y"] is None):
            raise serializers.ValidationError({"y": ["line and dots draw a column, count draws none"]})
        return attrs


class QueryChart(APIView):
    """Keep the chart that everybody sees the query's results as."""

    reads = Reads.QUERY

    @extend_schema(request=ChartSerializer, responses=ChartSerializer)
    def put(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(readable_queries(request.user).exclude(current=None), pk=pk)
        form = checked(ChartSerializer(data=request.data))
        keep_chart(request.user, record, Chart(**form.validated_data))
        return Response(form.data)

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(readable_queries(request.user).exclude(current=None), pk=pk)
        keep_chart(request.user, record, None)
        return Response(status=204)
