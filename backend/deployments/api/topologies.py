from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.requests import AccountRequest
from backend.deployments import actions
from backend.deployments.api.serializers import StopSerializer, TopologySerializer
from backend.http.documents import checked
from backend.topologies import queries


class TopologyList(APIView):
    @extend_schema(operation_id="topologies_list", responses=TopologySerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(TopologySerializer(queries.topologies(), many=True).data)


class TopologyDetail(APIView):
    @extend_schema(responses=TopologySerializer)
    def get(self, request: Request, name: str) -> Response:
        return Response(TopologySerializer(get_object_or_404(queries.topologies(), name=name)).data)


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
