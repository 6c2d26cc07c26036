"""What may be asked of a text before it is a query."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.catalog import language
from backend.catalog.api.serializers import PreviewRequestSerializer, PreviewSerializer, ProblemsSerializer
from backend.catalog.preview import preview
from backend.errors import InputErrors

BAD = OpenApiResponse(ProblemsSerializer, "The text has no meaning.")


class SqlPreview(APIView):
    """A text's results over recent tuples that Redis still holds; nothing is deployed."""

    @extend_schema(request=PreviewRequestSerializer, responses={200: PreviewSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = PreviewRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        draft = language.read_draft(values["sql"], values["name"] or "query")
        if draft.query is None:
            raise InputErrors(draft.errors)
        document = asdict(preview(draft.query, draft.catalog, values["limit"]))
        document["columns"] = [{"name": name, "type": kind} for name, kind in document["columns"]]
        return Response(PreviewSerializer(document).data)
