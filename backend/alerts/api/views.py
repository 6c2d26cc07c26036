from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.alerts import actions, queries
from backend.alerts.api.serializers import (
    AlertRuleSerializer,
    AlertRuleWriteSerializer,
    DeliverySerializer,
    rule_documents,
    shown_messages,
)
from backend.http.documents import checked
from backend.streams.api.serializers import SampleLimitSerializer


class AlertRuleList(APIView):
    """One's own rules and one's teams'; operators see all."""

    reads = Reads.SEVERAL

    @extend_schema(operation_id="alerts_list", responses=AlertRuleSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        return Response(rule_documents(request.user, list(queries.rules_of(request.user))))

    @extend_schema(request=AlertRuleWriteSerializer, responses={201: AlertRuleSerializer})
    def post(self, request: AccountRequest) -> Response:
        form = checked(AlertRuleWriteSerializer(data=request.data))
        rule = actions.create_rule(request.user, form.spec())
        return Response(rule_documents(request.user, [rule])[0], status=201)


class AlertRuleDetail(APIView):
    reads = Reads.ALERT

    @extend_schema(responses=AlertRuleSerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        rule = get_object_or_404(queries.rules_of(request.user), pk=pk)
        return Response(rule_documents(request.user, [rule])[0])

    @extend_schema(request=AlertRuleWriteSerializer, responses=AlertRuleSerializer)
    def put(self, request: AccountRequest, pk: int) -> Response:
        rule = get_object_or_404(queries.rules_of(request.user), pk=pk)
        form = checked(AlertRuleWriteSerializer(data=request.data))
        actions.change_rule(request.user, rule, form.spec())
        return Response(rule_documents(request.user, [rule])[0])

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        actions.delete_rule(request.user, get_object_or_404(queries.rules_of(request.user), pk=pk))
        return Response(status=204)


class AlertRuleTest(APIView):
    """Send a test message."""

    reads = Reads.ALERT

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        rule = get_object_or_404(queries.rules_of(request.user), pk=pk)
        (shown,) = shown_messages(request.user, [actions.try_rule(request.user, rule)])
        return Response(shown, status=202)


class AlertDeliveries(APIView):
    """What a rule told, newest first."""

    reads = Reads.ALERT

    @extend_schema(parameters=[SampleLimitSerializer], responses=DeliverySerializer(many=True))
    def get(self, request: AccountRequest, pk: int) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        rule = get_object_or_404(queries.rules_of(request.user), pk=pk)
        found = queries.deliveries_of(rule, form.validated_data["limit"])
        return Response(shown_messages(request.user, found))
