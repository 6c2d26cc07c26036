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
from backend.audit.models import AuditEntry
from backend.audit.queries import entries_of_topology
from backend.http.documents import checked
from backend.streams.api.serializers import SampleLimitSerializer
from backend.topologies.queries import topologies
from backend.topologies.sight import Sight, sight_of


class TopologyAuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    account = serializers.SerializerMethodField()
    account_is_service = IsServiceField(source="account", allow_null=True)
    action = serializers.CharField(source="verb")
    detail = serializers.SerializerMethodField()

    class Meta:
        model = AuditEntry
        fields = ("at", "account", "account_is_service", "action", "detail")
        read_only_fields = fields

    def get_account(self, entry: AuditEntry) -> str | None:
        return entry.account_name or None

    def get_detail(self, entry: AuditEntry) -> str:
        sight: Sight = self.context["sight"]
        return sight.text(entry.detail)


class TopologyAudit(APIView):
    """The newest entries of the audit trail that concern a topology, newest first."""

    reads = Reads.TOPOLOGY

    @extend_schema(parameters=[SampleLimitSerializer], responses=TopologyAuditEntrySerializer(many=True))
    def get(self, request: Request, name: str) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        topology = get_object_or_404(topologies(request.user), name=name)
        entries = entries_of_topology(topology.name, topology.created_at)[: form.validated_data["limit"]]
        sight = sight_of(request.user, topology)
        return Response(TopologyAuditEntrySerializer(entries, many=True, context={"sight": sight}).data)
