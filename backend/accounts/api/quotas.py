"""Limits of one account's, or of each member of a team, which operators set."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.models import Team
from backend.accounts.queries import refuse_non_operators
from backend.accounts.quotas import Resource, give, given_to
from backend.accounts.reading import Reads, teams_seen
from backend.accounts.requests import AccountRequest
from backend.http.documents import Document, checked

_MOST = 2**31 - 1


def _limit() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=0, max_value=_MOST, allow_null=True, required=False, help_text="null: as everywhere else"
    )


class QuotaSerializer(Document):
    """Limits by resource; what is left out of a change stays."""

    topologies = _limit()
    streams = _limit()
    queries = _limit()
    versions = _limit()
    alerts = _limit()
    tokens = _limit()


class AccountQuota(APIView):
    """The limits of one account's own."""

    reads = Reads.OPERATOR
    needs_session = True

    @extend_schema(responses=QuotaSerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        return _answer(_account(request.user, pk))

    @extend_schema(request=QuotaSerializer, responses=QuotaSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        account = _account(request.user, pk)
        _give(request, account)
        return _answer(account)


class TeamQuota(APIView):
    """The limits of each member of a team."""

    reads = Reads.TEAM
    needs_session = True

    @extend_schema(responses=QuotaSerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        return _answer(get_object_or_404(teams_seen(request.user), pk=pk))

    @extend_schema(request=QuotaSerializer, responses=QuotaSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        team = get_object_or_404(teams_seen(request.user), pk=pk)
        _give(request, team)
        return _answer(team)


def _account(operator: User, pk: int) -> User:
    refuse_non_operators(operator, "read quotas")
    return get_object_or_404(User, pk=pk)


def _give(request: AccountRequest, whose: User | Team) -> None:
    form = checked(QuotaSerializer(data=request.data))
    give(request.user, whose, {Resource(name): limit for name, limit in form.validated_data.items()})


def _answer(whose: User | Team) -> Response:
    return Response(QuotaSerializer(dict(given_to(whose).items())).data)
