from __future__ import annotations

from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import editable
from backend.accounts.requests import AccountRequest
from backend.bounded import pool
from backend.bounded.caller import caller_of
from backend.catalog import actions, downloads, language, queries
from backend.catalog.api.serializers import (
    DownloadSerializer,
    DraftSerializer,
    ExplainRequestSerializer,
    ProblemsSerializer,
    QueryPatchSerializer,
    QueryResultsSerializer,
    QuerySerializer,
    QueryVersionSerializer,
    QueryWriteSerializer,
    SearchSerializer,
    SqlSerializer,
    TransferSerializer,
    ValidationSerializer,
    VersionWriteSerializer,
)
from backend.catalog.models import Query
from backend.catalog.reading import formatted
from backend.documents import checked
from backend.errors import InputErrors, problem
from backend.streams.api.serializers import SampleLimitSerializer
from backend.topologies import actions as topology_actions
from backend.topologies import planning
from backend.topologies.api.serializers import (
    DeployedSerializer,
    DeployRequestSerializer,
    ExplanationSerializer,
)

BAD = OpenApiResponse(ProblemsSerializer, "The text has no meaning.")


def _shown(request: AccountRequest, records: Query | list[Query]) -> object:
    rows = records if isinstance(records, list) else [records]
    context = {
        "editable": editable(request.user, rows),
        "favourites": queries.favourites(request.user.pk),
    }
    return QuerySerializer(records, many=records is rows, context=context).data


class QueryList(APIView):
    @extend_schema(
        operation_id="queries_list", parameters=[SearchSerializer], responses=QuerySerializer(many=True)
    )
    def get(self, request: AccountRequest) -> Response:
        form = checked(SearchSerializer(data=request.query_params))
        found = queries.search(form.validated_data["search"], request.user)
        return Response(_shown(request, found))

    @extend_schema(request=QueryWriteSerializer, responses={201: QuerySerializer, 400: BAD})
    def post(self, request: AccountRequest) -> Response:
        form = checked(QueryWriteSerializer(data=request.data))
        record = actions.create_query(request.user, **form.validated_data)
        return Response(_shown(request, queries.queries().get(pk=record.pk)), status=201)


class QueryDetail(APIView):
    @extend_schema(responses=QuerySerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        return Response(_shown(request, get_object_or_404(queries.queries(), pk=pk)))

    @extend_schema(request=QueryPatchSerializer, responses=QuerySerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        form = checked(QueryPatchSerializer(data=request.data))
        actions.describe_query(request.user, record, **form.validated_data)
        return Response(_shown(request, queries.queries().get(pk=pk)))

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        actions.delete_query(request.user, get_object_or_404(queries.queries(), pk=pk))
        return Response(status=204)


class QueryVersions(APIView):
    @extend_schema(responses=QueryVersionSerializer(many=True))
    def get(self, request: Request, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        versions = record.versions.select_related("created_by")
        return Response(QueryVersionSerializer(versions, many=True).data)

    @extend_schema(
        request=VersionWriteSerializer, responses={201: QuerySerializer, 200: QuerySerializer, 400: BAD}
    )
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        form = checked(VersionWriteSerializer(data=request.data))
        written = actions.add_version(request.user, record, form.validated_data["sql"])
        return Response(_shown(request, queries.queries().get(pk=pk)), status=201 if written else 200)


class QueryDeploy(APIView):
    """Let a topology answer the query; what it returns is only the request's number."""

    @extend_schema(request=DeployRequestSerializer, responses={202: DeployedSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        form = checked(DeployRequestSerializer(data=request.data))
        deployed = topology_actions.deploy_query(request.user, record, **form.validated_data)
        return Response(DeployedSerializer(deployed).data, status=202)


class QueryUndeploy(APIView):
    @extend_schema(request=None, responses={202: DeployedSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        return Response(
            DeployedSerializer(topology_actions.undeploy_query(request.user, record)).data, status=202
        )


class QueryResults(APIView):
    """The newest results of a deployed query."""

    @extend_schema(parameters=[SampleLimitSerializer], responses=QueryResultsSerializer)
    def get(self, request: Request, pk: int) -> Response:
        form = checked(SampleLimitSerializer(data=request.query_params))
        record = get_object_or_404(queries.queries(), pk=pk)
        found = queries.newest_results(record, form.validated_data["limit"])
        document = {
            "columns": [{"name": name, "type": kind} for name, kind in found.columns],
            "rows": found.rows,
            "ids": found.ids,
            "batches": found.batches,
        }
        return Response(QueryResultsSerializer(document).data)


class QueryDownload(APIView):
    """The newest results as a file: CSV, or JSON lines."""

    @extend_schema(
        parameters=[DownloadSerializer],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/x-ndjson"): OpenApiTypes.STR},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        form = checked(DownloadSerializer(data=request.query_params))
        record = get_object_or_404(queries.queries(), pk=pk)
        found = queries.newest_results(record, downloads.MOST_ROWS)
        if form.validated_data["form"] == "csv":
            text, kind, ending = downloads.to_csv(found), "text/csv; charset=utf-8", "csv"
        else:
            text, kind, ending = downloads.to_json(found), "application/x-ndjson", "jsonl"
        named = {"Content-Disposition": f'attachment; filename="{record.name}.{ending}"'}
        return HttpResponse(text, content_type=kind, headers=named)


class QueryFavourite(APIView):
    """Keep a query among one's favourites (PUT), or no longer (DELETE)."""

    @extend_schema(request=None, responses={200: QuerySerializer})
    def put(self, request: AccountRequest, pk: int) -> Response:
        return self._mark(request, pk, wanted=True)

    @extend_schema(request=None, responses={200: QuerySerializer})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        return self._mark(request, pk, wanted=False)

    def _mark(self, request: AccountRequest, pk: int, wanted: bool) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        actions.mark_favourite(request.user, record, wanted)
        return Response(_shown(request, record))


class QueryTransfer(APIView):
    """Hand a query to another owner, and to a team or none."""

    @extend_schema(request=TransferSerializer, responses=QuerySerializer)
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(queries.queries(), pk=pk)
        form = checked(TransferSerializer(data=request.data))
        actions.transfer_query(request.user, record, **form.validated_data)
        return Response(_shown(request, queries.queries().get(pk=pk)))


class SqlValidate(APIView):
    """Everything that is wrong with a text, or what it reads and returns."""

    @extend_schema(request=DraftSerializer, responses=ValidationSerializer)
    def post(self, request: Request) -> Response:
        form = checked(DraftSerializer(data=request.data))
        draft = language.read_draft(
            caller_of(request), form.validated_data["sql"], form.validated_data["name"] or "query"
        )
        inputs = draft.query.inputs if draft.query else ()
        outputs = draft.query.outputs if draft.query else ()
        document = {
            "ok": draft.query is not None,
            "errors": [problem(error) for error in draft.errors],
            "inputs": [
                {
                    "alias": source.alias,
                    "stream": source.stream,
                    "window_ms": None if source.window is None else source.window / timedelta(milliseconds=1),
                }
                for source in inputs
            ],
            "outputs": [{"name": one.name, "type": one.expression.type.value} for one in outputs],
        }
        return Response(ValidationSerializer(document).data)


class SqlFormat(APIView):
    @extend_schema(request=SqlSerializer, responses={200: SqlSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(SqlSerializer(data=request.data))
        text = pool.reading().run(caller_of(request), formatted, form.validated_data["sql"])
        return Response(SqlSerializer({"sql": text}).data)


class SqlExplain(APIView):
    """How a text would be answered: alone, and what it would add to a topology."""

    @extend_schema(request=ExplainRequestSerializer, responses={200: ExplanationSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(ExplainRequestSerializer(data=request.data))
        values = form.validated_data
        draft = language.read_draft(caller_of(request), values["sql"], values["name"] or "query")
        if draft.query is None:
            raise InputErrors(draft.errors)
        explanation = planning.explain(
            caller_of(request), draft.query, values["sql"], draft.catalog, values["topology"]
        )
        return Response(ExplanationSerializer(explanation).data)
