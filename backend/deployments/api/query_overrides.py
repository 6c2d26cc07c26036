"""What operators override for a query: its topology, and limits on its cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.catalog.models import Query
from backend.catalog.queries import readable_queries
from backend.deployments import pins, placement
from backend.http.documents import Document, checked
from backend.limits import allowances

V = TypeVar("V")


class PinSerializer(Document):
    """The topology to which a query is pinned."""

    topology = serializers.RegexField(
        r"\A[a-z][a-z0-9_-]{0,62}\Z", allow_null=True, help_text="null: wherever the optimizer puts it"
    )


class AllowanceSerializer(Document):
    """Whether a query may cost more than its team's limits say."""

    allowed = serializers.BooleanField()


class _Override(APIView, ABC, Generic[V]):
    """One value that operators write."""

    reads = Reads.QUERY

    document: type[Document]
    """With one field, which is the value."""

    def get(self, request: Request, pk: int) -> Response:
        return self._answer(get_object_or_404(readable_queries(request.user), pk=pk))

    def put(self, request: AccountRequest, pk: int) -> Response:
        query = get_object_or_404(readable_queries(request.user), pk=pk)
        form = checked(self.document(data=request.data))
        (value,) = form.validated_data.values()
        self.write(request.user, query, value)
        return self._answer(query)

    def _answer(self, query: Query) -> Response:
        (name,) = self.document().fields
        return Response(self.document({name: self.read(query)}).data)

    @abstractmethod
    def read(self, query: Query) -> V: ...

    @abstractmethod
    def write(self, account: User, query: Query, value: V) -> None: ...


@extend_schema_view(
    get=extend_schema(operation_id="query_pin", responses=PinSerializer),
    put=extend_schema(operation_id="pin_query", request=PinSerializer, responses=PinSerializer),
)
class QueryPinned(_Override[str | None]):
    """Which topology must answer the query, if an operator said so."""

    document = PinSerializer

    def read(self, query: Query) -> str | None:
        return placement.pinned_to(query)

    def write(self, account: User, query: Query, value: str | None) -> None:
        pins.pin_query(account, query, value)


@extend_schema_view(
    get=extend_schema(operation_id="query_allowance", responses=AllowanceSerializer),
    put=extend_schema(operation_id="allow_query", request=AllowanceSerializer, responses=AllowanceSerializer),
)
class QueryAllowed(_Override[bool]):
    """An operator's word that the limits do not hold for the query."""

    document = AllowanceSerializer

    def read(self, query: Query) -> bool:
        return allowances.is_allowed(query)

    def write(self, account: User, query: Query, value: bool) -> None:
        allowances.allow_query(account, query, value)
