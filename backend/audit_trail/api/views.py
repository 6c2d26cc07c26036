from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import refuse_non_admins
from backend.accounts.reading import Reads
from backend.audit.models import AuditEntry
from backend.audit_trail import export
from backend.audit_trail.api.serializers import (
    AuditChoicesSerializer,
    AuditDownloadRequestSerializer,
    AuditEntrySerializer,
    AuditListRequestSerializer,
    AuditPageSerializer,
)
from backend.audit_trail.queries import choices, page
from backend.http.documents import checked

_WHAT = "read the audit trail"
"""It speaks of all teams."""


class AuditList(APIView):
    """Who changed what, newest first, a page at a time; for admins."""

    reads = Reads.ADMIN

    @extend_schema(
        operation_id="audit_list", parameters=[AuditListRequestSerializer], responses=AuditPageSerializer
    )
    def get(self, request: Request) -> Response:
        refuse_non_admins(request.user, _WHAT)
        form = checked(AuditListRequestSerializer(data=request.query_params))
        asked = form.validated_data
        found = page(form.wanted(), asked.get("before"), asked["limit"])
        return Response(AuditPageSerializer({"entries": found.entries, "next": found.next}).data)


class AuditChoices(APIView):
    """Kinds and verbs that entries may be narrowed by; for admins."""

    reads = Reads.ADMIN

    @extend_schema(responses=AuditChoicesSerializer)
    def get(self, request: Request) -> Response:
        refuse_non_admins(request.user, _WHAT)
        return Response(AuditChoicesSerializer(choices()).data)


class AuditDownload(APIView):
    """All that is looked for as a file, newest first: CSV, or JSON lines; for admins."""

    reads = Reads.ADMIN

    @extend_schema(
        parameters=[AuditDownloadRequestSerializer],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/x-ndjson"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        refuse_non_admins(request.user, _WHAT)
        form = checked(AuditDownloadRequestSerializer(data=request.query_params))
        is_csv = form.validated_data["form"] == "csv"
        written, header = (export.to_csv, export.csv_header()) if is_csv else (export.to_json_lines, "")

        def text(entries: Sequence[AuditEntry]) -> str:
            shown = AuditEntrySerializer(entries, many=True).data
            return written(cast("list[export.Document]", shown))

        kind, ending = ("text/csv; charset=utf-8", "csv") if is_csv else ("application/x-ndjson", "jsonl")
        named = {"Content-Disposition": f'attachment; filename="audit.{ending}"'}
        return StreamingHttpResponse(
            export.parts(form.wanted(), header, text), content_type=kind, headers=named
        )
