"""Who asked for what of a topology."""

from __future__ import annotations

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.documents import checked
from backend.streams.api.serializers import SampleLimitSerializer
from backend.topologies.models import AuditEntry
from backend.topologies.queries import topologies


class AuditEntrySerializer(serializers.Serializer[QuerySet[AuditEntry]]):
    at = serializers.DateTimeField()
    account = serializers.CharField(source="account.username", allow_null=True, default=None)
    action = serializers.CharField()
    detail = serializers.CharField()


class TopologyAudit(APIView):
    """The newest entries of the audit trail, newest first."""

    @extend_schema(parameters=[SampleLimitSerializer], responses=AuditEntrySerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        topology = get_object_or_404(topologies(), name=name)
        entries = topology.audit.select_related("account")[: form.validated_data["limit"]]
        return Response(AuditEntrySerializer(entries, many=True).data)
