from __future__ import annotations

import csv
import io

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.costs.api.serializers import (
    CostTableRequestSerializer,
    CostTableSerializer,
    costs_document,
    row_documents,
)
from backend.costs.queries import costs, prices
from backend.http.documents import checked
from backend.live.results.downloads import as_text

_OF_QUERY = ("topology", "team", "owner")
_OF_ALL = ("cores", "bytes", "month")


class CostsList(APIView):
    """What queries, teams or streams use and cost now."""

    reads = Reads.SEVERAL

    @extend_schema(parameters=[CostTableRequestSerializer], responses=CostTableSerializer)
    def get(self, request: Request) -> Response:
        form = checked(CostTableRequestSerializer(data=request.query_params))
        found = costs(request.user, form.validated_data["by"], form.validated_data["topology"])
        return Response(CostTableSerializer(costs_document(found, prices())).data)


class CostsDownload(APIView):
    """The same as a CSV file."""

    reads = Reads.SEVERAL

    @extend_schema(parameters=[CostTableRequestSerializer], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request) -> HttpResponse:
        form = checked(CostTableRequestSerializer(data=request.query_params)).validated_data
        by = form["by"]
        found, asked = costs(request.user, by, form["topology"]), prices()
        written = io.StringIO()
        writer = csv.writer(written)
        columns = (*(_OF_QUERY if by == "query" else ()), *_OF_ALL)
        writer.writerow([by, *columns[:-1], as_text(f"{asked.currency} a month")])
        for row in row_documents(found, asked):
            writer.writerow([as_text(row[column]) for column in ("name", *columns)])
        named = {"Content-Disposition": f'attachment; filename="costs-by-{by}.csv"'}
        return HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8", headers=named)
