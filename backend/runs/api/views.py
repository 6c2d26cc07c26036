from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.http.documents import checked
from backend.runs import process
from backend.runs.api.serializers import RunLogSerializer, RunSerializer, RunsFilterSerializer, TailSerializer
from backend.topologies import queries
from backend.topologies.models import Run


class RunList(APIView):
    @extend_schema(
        operation_id="runs_list", parameters=[RunsFilterSerializer], responses=RunSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        form = checked(RunsFilterSerializer(data=request.query_params))
        return Response(RunSerializer(queries.runs(**form.validated_data), many=True).data)


class RunDetail(APIView):
    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, pk: str) -> Response:
        return Response(
            RunSerializer(get_object_or_404(Run.objects.select_related("topology", "plan"), pk=pk)).data
        )


class RunLog(APIView):
    """The last lines that the run's driver, Java and Python workers printed."""

    @extend_schema(parameters=[TailSerializer], responses=RunLogSerializer)
    def get(self, request: Request, pk: str) -> Response:
        form = checked(TailSerializer(data=request.query_params))
        run = get_object_or_404(Run.objects.select_related("topology"), pk=pk)
        asked = form.validated_data
        lines, truncated = process.log_tail(run, asked["tail"], asked["search"])
        return Response(RunLogSerializer({"lines": lines, "truncated": truncated}).data)
