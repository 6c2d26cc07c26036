"""The newest results of a query, as rows and as a file."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.http.documents import Document, Form, checked
from backend.live.results import downloads
from backend.live.results.newest import newest_results
from backend.streams.api.serializers import NamedColumnSerializer, SampleLimitSerializer
from backend.topologies import query_search


class ResultsRequestSerializer(SampleLimitSerializer):
    until = serializers.IntegerField(
        min_value=0, required=False, help_text="the last batch whose results are told"
    )


class DownloadSerializer(Form):
    form = serializers.ChoiceField(choices=["csv", "json"], default="csv")


class TableSerializer(Document):
    rows = serializers.IntegerField(help_text="rows that are kept, those that changed last")
    whole = serializers.BooleanField(help_text="whether that is every row of the table")
    batch = serializers.IntegerField(
        help_text="behind which it is so: a subscription since the next batch goes on from there"
    )
    counted_from = serializers.DateTimeField(
        allow_null=True, help_text="the event time from which on combinations are counted; null if all are"
    )


class QueryResultsSerializer(Document):
    """The newest results, newest first; `ids` and `batches` go with `rows`."""

    columns = NamedColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))
    ids = serializers.ListField(child=serializers.CharField())
    batches = serializers.ListField(child=serializers.IntegerField())
    table = TableSerializer(
        allow_null=True, help_text="of running groups, whose rows are the current table; null if results stay"
    )


class QueryResults(APIView):
    """The newest results of a deployed query."""

    reads = Reads.QUERY

    @extend_schema(parameters=[ResultsRequestSerializer], responses=QueryResultsSerializer)
    def get(self, request: Request, pk: int) -> Response:
        form = checked(ResultsRequestSerializer(data=request.query_params))
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        found = newest_results(record, form.validated_data["limit"], form.validated_data.get("until"))
        document = {
            "columns": [{"name": name, "type": kind} for name, kind in found.columns],
            "rows": found.rows,
            "ids": found.ids,
            "batches": found.batches,
            "table": None if found.table is None else asdict(found.table),
        }
        return Response(QueryResultsSerializer(document).data)


class QueryDownload(APIView):
    """The newest results as a file: CSV, or JSON lines."""

    reads = Reads.QUERY

    @extend_schema(
        parameters=[DownloadSerializer],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/x-ndjson"): OpenApiTypes.STR},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        form = checked(DownloadSerializer(data=request.query_params))
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        found = newest_results(record, downloads.MOST_ROWS)
        if form.validated_data["form"] == "csv":
            text, kind, ending = downloads.to_csv(found), "text/csv; charset=utf-8", "csv"
        else:
            text, kind, ending = downloads.to_json(found), "application/x-ndjson", "jsonl"
        named = {"Content-Disposition": f'attachment; filename="{record.name}.{ending}"'}
        return HttpResponse(text, content_type=kind, headers=named)
