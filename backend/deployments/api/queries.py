from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import editable
from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.catalog import actions
from backend.catalog.api.sql import BAD
from backend.catalog.models import Query
from backend.deployments import actions as topology_actions
from backend.deployments.api.query_serializers import (
    QueryPatchSerializer,
    QuerySerializer,
    QueryVersionSerializer,
    QueryWriteSerializer,
    SearchSerializer,
    TransferSerializer,
    VersionWriteSerializer,
)
from backend.deployments.api.serializers import DeployedSerializer, DeployRequestSerializer
from backend.http.documents import checked
from backend.topologies import query_search


def _shown(request: AccountRequest, records: Query | list[Query]) -> object:
    rows = records if isinstance(records, list) else [records]
    context = {
        "editable": editable(request.user, rows),
        "favourites": query_search.favourites(request.user.pk),
    }
    return QuerySerializer(records, many=records is rows, context=context).data


def _again(request: AccountRequest, pk: int) -> object:
    """The answer to a query that was written.

    Not found if it was given away to where the writer does not read it.
    """
    return _shown(request, get_object_or_404(query_search.queries(request.user), pk=pk))


class QueryList(APIView):
    reads = Reads.SEVERAL

    @extend_schema(
        operation_id="queries_list", parameters=[SearchSerializer], responses=QuerySerializer(many=True)
    )
    def get(self, request: AccountRequest) -> Response:
        form = checked(SearchSerializer(data=request.query_params))
        found = query_search.search(form.validated_data["search"], request.user)
        return Response(_shown(request, found))

    @extend_schema(request=QueryWriteSerializer, responses={201: QuerySerializer, 400: BAD})
    def post(self, request: AccountRequest) -> Response:
        form = checked(QueryWriteSerializer(data=request.data))
        record = actions.create_query(request.user, **form.validated_data)
        return Response(_again(request, record.pk), status=201)


class QueryDetail(APIView):
    reads = Reads.QUERY

    @extend_schema(responses=QuerySerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        return Response(_shown(request, get_object_or_404(query_search.queries(request.user), pk=pk)))

    @extend_schema(request=QueryPatchSerializer, responses=QuerySerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        form = checked(QueryPatchSerializer(data=request.data))
        actions.describe_query(request.user, record, **form.validated_data)
        return Response(_again(request, pk))

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        actions.delete_query(request.user, get_object_or_404(query_search.queries(request.user), pk=pk))
        return Response(status=204)


class QueryVersions(APIView):
    reads = Reads.QUERY

    @extend_schema(responses=QueryVersionSerializer(many=True))
    def get(self, request: Request, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        versions = record.versions.select_related("created_by__service_account")
        return Response(QueryVersionSerializer(versions, many=True).data)

    @extend_schema(
        request=VersionWriteSerializer, responses={201: QuerySerializer, 200: QuerySerializer, 400: BAD}
    )
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        form = checked(VersionWriteSerializer(data=request.data))
        written = actions.add_version(request.user, record, form.validated_data["sql"])
        return Response(_again(request, pk), status=201 if written else 200)


class QueryDeploy(APIView):
    """Let a topology answer the query; what it returns is only the request's number."""

    reads = Reads.QUERY

    @extend_schema(request=DeployRequestSerializer, responses={202: DeployedSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        form = checked(DeployRequestSerializer(data=request.data))
        deployed = topology_actions.deploy_query(request.user, record, **form.validated_data)
        return Response(DeployedSerializer(deployed).data, status=202)


class QueryUndeploy(APIView):
    reads = Reads.QUERY

    @extend_schema(request=None, responses={202: DeployedSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        return Response(
            DeployedSerializer(topology_actions.undeploy_query(request.user, record)).data, status=202
        )


class QueryFavourite(APIView):
    """Keep a query among one's favourites (PUT), or no longer (DELETE)."""

    reads = Reads.QUERY

    @extend_schema(request=None, responses={200: QuerySerializer})
    def put(self, request: AccountRequest, pk: int) -> Response:
        return self._mark(request, pk, wanted=True)

    @extend_schema(request=None, responses={200: QuerySerializer})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        return self._mark(request, pk, wanted=False)

    def _mark(self, request: AccountRequest, pk: int, wanted: bool) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        actions.mark_favourite(request.user, record, wanted)
        return Response(_shown(request, record))


class QueryTransfer(APIView):
    """Hand a query to another owner, and to a team or none."""

    reads = Reads.QUERY

    @extend_schema(request=TransferSerializer, responses=QuerySerializer)
    def post(self, request: AccountRequest, pk: int) -> Response:
        record = get_object_or_404(query_search.queries(request.user), pk=pk)
        form = checked(TransferSerializer(data=request.data))
        actions.transfer_query(request.user, record, **form.validated_data)
        return Response(_again(request, pk))
