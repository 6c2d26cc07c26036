from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.models import ServiceAccount, Team
from backend.accounts.queries import refuse_non_admins
from backend.accounts.reading import Reads, teams_seen
from backend.accounts.requests import AccountRequest
from backend.http.documents import checked
from backend.service_accounts import actions, queries
from backend.service_accounts.api.serializers import (
    ServiceAccountEnabledSerializer,
    ServiceAccountSerializer,
    ServiceAccountWriteSerializer,
)
from backend.streams.queries import streams
from backend.tokens.api.serializers import NewTokenSerializer, TokenSerializer, TokenWriteSerializer


class OfTeam(APIView):
    """A part of a team that the account sees, in a session only.

    So a stolen token makes neither accounts nor other tokens, an admin's no more than a service account's.
    """

    reads = Reads.TEAM
    needs_session = True


class ServiceAccountList(OfTeam):
    """The programs that act for a team, which its members see and admins make."""

    @extend_schema(operation_id="service_accounts_list", responses=ServiceAccountSerializer(many=True))
    def get(self, request: AccountRequest, pk: int) -> Response:
        found = queries.service_accounts(_team(request.user, pk))
        return Response(ServiceAccountSerializer(found, many=True).data)

    @extend_schema(request=ServiceAccountWriteSerializer, responses={201: ServiceAccountSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        team = _team(request.user, pk)
        form = checked(ServiceAccountWriteSerializer(data=request.data))
        made = actions.create_service_account(request.user, team, form.validated_data["name"])
        return Response(ServiceAccountSerializer(made).data, status=201)


class ServiceAccountDetail(OfTeam):
    @extend_schema(request=ServiceAccountEnabledSerializer, responses=ServiceAccountSerializer)
    def put(self, request: AccountRequest, pk: int, account: int) -> Response:
        service = _service(request.user, pk, account)
        form = checked(ServiceAccountEnabledSerializer(data=request.data))
        actions.set_enabled(request.user, service, form.validated_data["enabled"])
        return Response(ServiceAccountSerializer(service).data)

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int, account: int) -> Response:
        actions.delete_service_account(request.user, _service(request.user, pk, account))
        return Response(status=204)


class ServiceTokenList(OfTeam):
    """What a service account's programs say who they are by."""

    @extend_schema(operation_id="service_tokens_list", responses=TokenSerializer(many=True))
    def get(self, request: AccountRequest, pk: int, account: int) -> Response:
        service = _service(request.user, pk, account)
        found = queries.tokens_of_service_account(request.user, service)
        return Response(TokenSerializer(found, many=True).data)

    @extend_schema(request=TokenWriteSerializer, responses={201: NewTokenSerializer})
    def post(self, request: AccountRequest, pk: int, account: int) -> Response:
        service = _service(request.user, pk, account)
        refuse_non_admins(request.user, queries.manage(service.team))
        form = checked(TokenWriteSerializer(data=request.data))
        values = form.validated_data
        stream = (
            None
            if values["stream"] is None
            else get_object_or_404(streams(service.account), name=values["stream"])
        )
        record, secret = actions.create_service_token(
            request.user, service, values["name"], stream, values["expires_at"]
        )
        shown = TokenSerializer(record).data
        return Response({**shown, "secret": secret}, status=201)


class ServiceTokenDetail(OfTeam):
    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int, account: int, token: int) -> Response:
        service = _service(request.user, pk, account)
        found = queries.tokens_of_service_account(request.user, service)
        actions.revoke_service_token(request.user, service, get_object_or_404(found, pk=token))
        return Response(status=204)


def _team(account: User, pk: int) -> Team:
    return get_object_or_404(teams_seen(account), pk=pk)


def _service(account: User, pk: int, service: int) -> ServiceAccount:
    return get_object_or_404(queries.service_accounts(_team(account, pk)).select_related("team"), pk=service)
