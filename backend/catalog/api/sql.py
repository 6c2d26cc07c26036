"""Answer questions about a draft: its meaning, its form, and its results so far."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.bounded import pool
from backend.bounded.caller import Caller, caller_of
from backend.catalog import language
from backend.catalog.api.serializers import (
    DraftSerializer,
    PreviewRequestSerializer,
    PreviewSerializer,
    ProblemsSerializer,
    SqlSerializer,
    ValidationSerializer,
)
from backend.catalog.parsing import formatted
from backend.catalog.preview_requests import previewed
from backend.errors import InputErrors, problem
from backend.http.documents import checked
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.retention import derived_retentions

BAD = OpenApiResponse(ProblemsSerializer, "The text has no meaning.")


def drafted(request: Request, caller: Caller, form: DraftSerializer) -> tuple[Query, Catalog]:
    """What the text that was sent means, and what it may read.

    Raises `InputErrors` if it means nothing to whoever sends it.
    """
    sql, name = form.validated_data["sql"], form.validated_data["name"] or "query"
    draft = language.read_draft(request.user, caller, sql, name)
    if draft.query is None:
        raise InputErrors(draft.errors)
    return draft.query, draft.catalog


class SqlValidate(APIView):
    """Everything that is wrong with a text, or what it reads and returns."""

    reads = Reads.OWN

    @extend_schema(request=DraftSerializer, responses=ValidationSerializer)
    def post(self, request: Request) -> Response:
        form = checked(DraftSerializer(data=request.data))
        sql, name = form.validated_data["sql"], form.validated_data["name"] or "query"
        draft = language.read_draft(request.user, caller_of(request), sql, name)
        inputs = draft.query.inputs if draft.query else ()
        outputs = draft.query.outputs if draft.query else ()
        derived = draft.query.derived if draft.query else ()
        labels = {one.stream.name: one.stream.results.label for one in derived if one.stream.results}
        document = {
            "ok": draft.query is not None,
            "errors": [problem(error) for error in draft.errors],
            "hints": [problem(hint) for hint in draft.hints],
            "retentions": [
                {"alias": one.alias, "kept_ms": one.window.milliseconds, "because": one.because}
                for one in (derived_retentions(draft.query, draft.catalog) if draft.query else ())
            ],
            "inputs": [
                {
                    "alias": source.alias,
                    "stream": labels.get(source.stream, source.stream),
                    "window_ms": source.window.milliseconds,
                }
                for source in inputs
            ],
            "outputs": [{"name": one.name, "type": one.expression.type.value} for one in outputs],
        }
        return Response(ValidationSerializer(document).data)


class SqlFormat(APIView):
    reads = Reads.OWN

    @extend_schema(request=SqlSerializer, responses={200: SqlSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(SqlSerializer(data=request.data))
        text = pool.reading().run(caller_of(request), formatted, form.validated_data["sql"])
        return Response(SqlSerializer({"sql": text}).data)


class SqlPreview(APIView):
    """A text's results over recent tuples that Redis still holds; nothing is deployed."""

    reads = Reads.OWN

    @extend_schema(request=PreviewRequestSerializer, responses={200: PreviewSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(PreviewRequestSerializer(data=request.data))
        caller = caller_of(request)
        query, catalog = drafted(request, caller, form)
        document = asdict(previewed(caller, query, catalog, form.validated_data["limit"]))
        document["columns"] = [{"name": name, "type": kind} for name, kind in document["columns"]]
        return Response(PreviewSerializer(document).data)
