from __future__ import annotations

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import editable
from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.http.documents import checked
from backend.http.parsers import BoundedJSONParser, NDJSONParser
from backend.streams import actions, queries
from backend.streams.api.serializers import (
    IngestedSerializer,
    SampleLimitSerializer,
    StreamPatchSerializer,
    StreamSampleSerializer,
    StreamSerializer,
    StreamWriteSerializer,
)
from backend.streams.api.sources import ConnectorSerializer, connectors
from backend.streams.models import Stream


def _shown(request: AccountRequest, records: list[Stream], many: bool) -> object:
    context = {
        "entries": queries.entry_counts([record.name for record in records]),
        "editable": editable(request.user, records),
    }
    return StreamSerializer(records if many else records[0], many=many, context=context).data


def _again(request: AccountRequest, record: Stream) -> object:
    """The answer to a stream that was written.

    Not found if it was given away to where the writer does not read it.
    """
    return _shown(request, [get_object_or_404(queries.streams(request.user), pk=record.pk)], many=False)


class StreamList(APIView):
    reads = Reads.SEVERAL

    @extend_schema(operation_id="streams_list", responses=StreamSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        return Response(_shown(request, list(queries.streams(request.user)), many=True))

    @extend_schema(request=StreamWriteSerializer, responses={201: StreamSerializer})
    def post(self, request: AccountRequest) -> Response:
        form = checked(StreamWriteSerializer(data=request.data))
        record = actions.create_stream(request.user, form.spec(), form.validated_data["team"])
        return Response(_again(request, record), status=201)


class StreamDetail(APIView):
    reads = Reads.STREAM

    @extend_schema(responses=StreamSerializer)
    def get(self, request: AccountRequest, name: str) -> Response:
        return Response(
            _shown(request, [get_object_or_404(queries.streams(request.user), name=name)], many=False)
        )

    @extend_schema(request=StreamPatchSerializer, responses=StreamSerializer)
    def patch(self, request: AccountRequest, name: str) -> Response:
        record = get_object_or_404(queries.streams(request.user), name=name)
        form = checked(StreamPatchSerializer(data=request.data, partial=True))
        values = form.validated_data
        with transaction.atomic():
            if "team" in values:
                actions.give_stream(request.user, record, values["team"])
            actions.change_stream(request.user, record, form.spec(actions.StreamSpec.of(record)))
        return Response(_again(request, record))

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, name: str) -> Response:
        actions.delete_stream(request.user, get_object_or_404(queries.streams(request.user), name=name))
        return Response(status=204)


class ConnectorList(APIView):
    """What may bring a stream's tuples, with the settings that it takes."""

    reads = Reads.EVERYBODY

    @extend_schema(operation_id="connectors_list", responses=ConnectorSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(ConnectorSerializer(connectors(), many=True).data)


class StreamSample(APIView):
    """The newest tuples of a stream, newest first."""

    reads = Reads.STREAM

    @extend_schema(parameters=[SampleLimitSerializer], responses=StreamSampleSerializer)
    def get(self, request: Request, name: str) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        record = get_object_or_404(queries.streams(request.user), name=name)
        found = queries.sample(record, form.validated_data["limit"])
        columns = [{"name": column, "type": kind} for column, kind in found.columns]
        return Response(StreamSampleSerializer({"columns": columns, "rows": found.rows}).data)


class StreamEvents(APIView):
    """Ingest events: one JSON object, an array of them, or newline-delimited JSON."""

    parser_classes = (BoundedJSONParser, NDJSONParser)
    is_ingestion = True
    reads = Reads.STREAM

    @extend_schema(
        request={"application/json": OpenApiTypes.OBJECT, "application/x-ndjson": OpenApiTypes.STR},
        responses={202: IngestedSerializer, 400: OpenApiResponse(description="{errors: [Problem]}")},
    )
    def post(self, request: AccountRequest, name: str) -> Response:
        record = get_object_or_404(queries.streams(request.user), name=name)
        body = request.data
        events, single = (body, False) if isinstance(body, list) else ([body], True)
        last_id = actions.ingest(request.user, record, events, single, timezone.now())
        return Response(IngestedSerializer({"accepted": len(events), "last_id": last_id}).data, status=202)
