from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.http.documents import checked
from backend.streams.queries import streams
from backend.tokens import actions, queries
from backend.tokens.api.serializers import NewTokenSerializer, TokenSerializer, TokenWriteSerializer


class TokenList(APIView):
    """One's own tokens.

    Made and revoked in a session only: a stolen token makes no other.
    """

    reads = Reads.OWN

    needs_session = True

    @extend_schema(operation_id="tokens_list", responses=TokenSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        return Response(TokenSerializer(queries.tokens_of(request.user), many=True).data)

    @extend_schema(request=TokenWriteSerializer, responses={201: NewTokenSerializer})
    def post(self, request: AccountRequest) -> Response:
        form = checked(TokenWriteSerializer(data=request.data))
        values = form.validated_data
        stream = (
            None
            if values["stream"] is None
            else get_object_or_404(streams(request.user), name=values["stream"])
        )
        record, secret = actions.create_token(request.user, values["name"], stream, values["expires_at"])
        shown = TokenSerializer(record).data
        return Response({**shown, "secret": secret}, status=201)


class TokenDetail(APIView):
    reads = Reads.OWN
    needs_session = True

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        token = get_object_or_404(queries.tokens_of(request.user), pk=pk)
        actions.revoke_token(request.user, token)
        return Response(status=204)
