from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.deployments import actions
from backend.deployments.api.serializers import (
    StopSerializer,
    TopologySerializer,
    shown_topologies,
    shown_topology,
)
from backend.http.documents import checked
from backend.topologies import queries


class TopologyList(APIView):
    reads = Reads.SEVERAL

    @extend_schema(operation_id="topologies_list", responses=TopologySerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(shown_topologies(request, queries.topologies(request.user)))


class TopologyDetail(APIView):
    reads = Reads.TOPOLOGY

    @extend_schema(responses=TopologySerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(
            shown_topology(request, get_object_or_404(queries.topologies(request.user), name=name))
        )


class _Request(APIView):
    """A request to change what runs: answered at once with the topology as it then is."""

    reads = Reads.TOPOLOGY

    def _answer(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(queries.topologies(request.user), name=name)
        return Response(shown_topology(request, topology), status=202)


class TopologyStart(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.start_topology(request.user, get_object_or_404(queries.topologies(request.user), name=name))
        return self._answer(request, name)


class TopologyStop(_Request):
    @extend_schema(request=StopSerializer, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        topology = get_object_or_404(queries.topologies(request.user), name=name)
        form = checked(StopSerializer(data=request.data))
        actions.stop_topology(request.user, topology, form.validated_data["mode"])
        return self._answer(request, name)


class TopologyRestart(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.restart_topology(request.user, get_object_or_404(queries.topologies(request.user), name=name))
        return self._answer(request, name)


class TopologyOptimize(_Request):
    @extend_schema(request=None, responses={202: TopologySerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        actions.replan(request.user, get_object_or_404(queries.topologies(request.user), name=name))
        return self._answer(request, name)
