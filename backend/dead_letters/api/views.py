from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.dead_letters import actions, queries
from backend.dead_letters.api.serializers import (
    DeadLettersSerializer,
    DiscardSerializer,
    RedriveSerializer,
    SentSerializer,
)
from backend.http.documents import checked
from backend.streams.api.serializers import SampleLimitSerializer
from backend.streams.queries import streams


class DeadLetters(APIView):
    """The newest tuples of a stream that topologies turned away, newest first."""

    reads = Reads.STREAM

    @extend_schema(parameters=[SampleLimitSerializer], responses=DeadLettersSerializer)
    def get(self, request: Request, name: str) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        record = get_object_or_404(streams(request.user), name=name)
        found = queries.letters_of(request.user, record.name, form.validated_data["limit"])
        document = {"kept": found.kept, "letters": found.newest}
        return Response(DeadLettersSerializer(document).data)


class Redrive(APIView):
    """Send dead letters to their stream again, corrected if asked."""

    reads = Reads.STREAM

    @extend_schema(request=RedriveSerializer, responses={202: SentSerializer})
    def post(self, request: AccountRequest, name: str) -> Response:
        record = get_object_or_404(streams(request.user), name=name)
        form = checked(RedriveSerializer(data=request.data))
        count = actions.redrive(request.user, record, form.chosen(), timezone.now())
        return Response(SentSerializer({"count": count}).data, status=202)


class Discard(APIView):
    """Delete dead letters for good."""

    reads = Reads.STREAM

    @extend_schema(request=DiscardSerializer, responses=SentSerializer)
    def post(self, request: AccountRequest, name: str) -> Response:
        record = get_object_or_404(streams(request.user), name=name)
        form = checked(DiscardSerializer(data=request.data))
        return Response(SentSerializer({"count": actions.discard(request.user, record, form.chosen())}).data)
