from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.requests import AccountRequest
from backend.documents import checked
from backend.topologies import actions, process, queries
from backend.topologies.api.serializers import (
    PlanFilterSerializer,
    PlanSerializer,
    RunLogSerializer,
    RunSerializer,
    RunsFilterSerializer,
    StopSerializer,
    TailSerializer,
    TopologySerializer,
)
from backend.topologies.models import Run


class TopologyList(APIView):
    @extend_schema(operation_id="topologies_list", responses=TopologySerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(TopologySerializer(queries.topologies(), many=True).data)


class TopologyDetail(APIView):
    @extend_schema(responses=TopologySerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(TopologySerializer(get_object_or_404(queries.topologies(), name=name)).data)


class TopologyGraph(APIView):
    """The plan that runs, or the newest, or the one asked for."""

    @extend_schema(parameters=[PlanFilterSerializer], responses=PlanSerializer)
    def get(self, request: Request, name: str) -> Response:
        form = checked(PlanFilterSerializer(data=request.query_params))
        topology = get_object_or_404(queries.topologies(), name=name)
        plan = queries.find_plan(topology, form.validated_data["plan_id"])
        if plan is None:
            raise Http404("no such plan")
        return Response(PlanSerializer(queries.plan_document(plan)).data)


class _Request(APIView):
    """A request to change what runs: answered at once with the topology as it then is."""

    def _answer(self, name: str) -> Response:
        return Response(TopologySerializer(queries.topologies().get(name=name)).data, status=202)


class TopologyStart(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.start_topology(request.user, get_object_or_404(queries.topologies(), name=name))
        return self._answer(name)


class TopologyStop(_Request):
    @extend_schema(request=StopSerializer, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(queries.topologies(), name=name)
        form = checked(StopSerializer(data=request.data))
        actions.stop_topology(request.user, topology, form.validated_data["mode"])
        return self._answer(name)


class TopologyRestart(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.restart_topology(request.user, get_object_or_404(queries.topologies(), name=name))
        return self._answer(name)


class TopologyOptimize(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.replan(request.user, get_object_or_404(queries.topologies(), name=name))
        return self._answer(name)


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
    """The last lines that the run's process printed."""

    @extend_schema(parameters=[TailSerializer], responses=RunLogSerializer)
    def get(self, request: Request, pk: str) -> Response:
        form = checked(TailSerializer(data=request.query_params))
        run = get_object_or_404(Run.objects.select_related("topology"), pk=pk)
        lines, truncated = process.log_tail(run, form.validated_data["tail"])
        return Response(RunLogSerializer({"lines": lines, "truncated": truncated}).data)
