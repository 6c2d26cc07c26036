from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.http.documents import checked
from backend.runs import process
from backend.runs.api.serializers import (
    RunLogSerializer,
    RunSerializer,
    RunsFilterSerializer,
    TailSerializer,
    shown_runs,
)
from backend.topologies import queries
from backend.topologies.sight import sight_of


class RunList(APIView):
    reads = Reads.SEVERAL

    @extend_schema(
        operation_id="runs_list", parameters=[RunsFilterSerializer], responses=RunSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        form = checked(RunsFilterSerializer(data=request.query_params))
        return Response(shown_runs(request, queries.newest_runs(request.user, **form.validated_data)))


class RunDetail(APIView):
    reads = Reads.RUN

    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, pk: str) -> Response:
        (shown,) = shown_runs(request, [get_object_or_404(queries.runs(request.user), pk=pk)])
        return Response(shown)


class RunLog(APIView):
    """The last lines that the run's driver, Java and Python workers printed."""

    reads = Reads.RUN

    @extend_schema(parameters=[TailSerializer], responses=RunLogSerializer)
    def get(self, request: Request, pk: str) -> Response:
        form = checked(TailSerializer(data=request.query_params))
        run = get_object_or_404(queries.runs(request.user), pk=pk)
        if not sight_of(request.user, run.topology).is_whole:
            raise Http404("it speaks of queries that the account may not know of")
        asked = form.validated_data
        lines, truncated = process.log_tail(run, asked["tail"], asked["search"])
        return Response(RunLogSerializer({"lines": lines, "truncated": truncated}).data)
