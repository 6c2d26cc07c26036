"""Who asked for what of a topology."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.api.serializers import IsServiceField
from backend.accounts.reading import Reads
from backend.http.documents import checked
from backend.streams.api.serializers import SampleLimitSerializer
from backend.topologies.models import AuditEntry
from backend.topologies.queries import topologies
from backend.topologies.sight import Sight, sight_of


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    account = serializers.CharField(source="account.username", allow_null=True, default=None)
    account_is_service = IsServiceField(source="account", allow_null=True)
    detail = serializers.SerializerMethodField()

    class Meta:
        model = AuditEntry
        fields = ("at", "account", "account_is_service", "action", "detail")
        read_only_fields = fields

    def get_detail(self, entry: AuditEntry) -> str:
        sight: Sight = self.context["sight"]
        return sight.text(entry.detail)


class TopologyAudit(APIView):
    """The newest entries of the audit trail, newest first."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[SampleLimitSerializer], responses=AuditEntrySerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        topology = get_object_or_404(topologies(request.user), name=name)
        entries = topology.audit.select_related("account__service_account")[: form.validated_data["limit"]]
        sight = sight_of(request.user, topology)
        return Response(AuditEntrySerializer(entries, many=True, context={"sight": sight}).data)
