from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.http.documents import checked
from backend.live.api.answered import deployed_queries
from backend.live.api.serializers import (
    ArrivalsRequestSerializer,
    ArrivalsSerializer,
    FiguresSerializer,
    ProvenanceRequestSerializer,
    ProvenanceSerializer,
    SnapshotRequestSerializer,
    SnapshotSerializer,
)
from backend.live.arrivals import arrivals_of
from backend.live.figures import figures_of
from backend.live.look_back import state_then
from backend.live.queries import live_state
from backend.live.redaction import told_state
from backend.live.results.provenance import provenance
from backend.streams.queries import streams
from backend.topologies.queries import readers_of, topologies
from backend.topologies.query_search import deployment_of, queries
from backend.topologies.sight import WHOLE, sight_of


class ResultProvenance(APIView):
    """How a result of the live tail came about."""

    reads = Reads.QUERY

    @extend_schema(parameters=[ProvenanceRequestSerializer], responses=ProvenanceSerializer)
    def get(self, request: Request, pk: int) -> Response:
        record = get_object_or_404(queries(request.user), pk=pk)
        form = checked(ProvenanceRequestSerializer(data=request.query_params))
        deployment = deployment_of(record)
        sight = WHOLE if deployment is None else sight_of(request.user, deployment.topology)
        found = provenance(record, form.validated_data["id"], sight)
        return Response(ProvenanceSerializer(found).data)


class QueryFigures(APIView):
    """Latency, freshness, completeness and the verified time of a deployed query."""

    reads = Reads.QUERY

    @extend_schema(responses=FiguresSerializer)
    def get(self, request: Request, pk: int) -> Response:
        record = get_object_or_404(queries(request.user), pk=pk)
        return Response(FiguresSerializer(figures_of(record)).data)


class StreamArrivals(APIView):
    """What came of a stream in the newest batches of every topology that reads it."""

    reads = Reads.STREAM

    @extend_schema(parameters=[ArrivalsRequestSerializer], responses=ArrivalsSerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        form = checked(ArrivalsRequestSerializer(data=request.query_params))
        record = get_object_or_404(streams(request.user), name=name)
        names = [one.name for one in readers_of(request.user, record.name)]
        found = arrivals_of(record.name, names, form.validated_data["limit"])
        return Response(ArrivalsSerializer(found, many=True).data)


class Snapshot(APIView):
    """What the topology does now, or did when a past epoch ended."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[SnapshotRequestSerializer], responses=SnapshotSerializer)
    def get(self, request: Request, name: str) -> Response:
        topology = get_object_or_404(topologies(request.user), name=name)
        form = checked(SnapshotRequestSerializer(data=request.query_params))
        epoch = form.validated_data.get("epoch")
        state = live_state(topology) if epoch is None else state_then(topology, epoch)
        if state is None:
            raise Http404(f"found epoch {epoch}, expected one of the newest that are kept")
        # pydantic's JSON form is also that of the events, so both sides of the fold look alike.
        sight = sight_of(request.user, topology)
        document = told_state(state, sight).model_dump(mode="json", exclude={"version"})
        return Response({**document, "queries": deployed_queries(topology, sight)})
