"""Convert a text, and tell the tables that it lacks.

`POST /api/sql/convert/` and `POST /api/sql/unregistered/`.

Plans before and after are lists of operators that name what reads them; behind them stands the whole text as
one query over streams, or what our SQL cannot express of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.bounded.caller import caller_of
from backend.catalog.api.serializers import (
    DraftSerializer,
    ProblemSerializer,
    ProblemsSerializer,
    SqlSerializer,
)
from backend.catalog.conversion import converted, unregistered_in
from backend.errors import InputErrors, problem
from backend.http.documents import Document, checked
from optimizer.algebra.errors import InputError
from optimizer.conversion import Operator


class OperatorSerializer(Document):
    """One operator of a plan.

    Parents stand before their inputs, inputs from left to right.
    """

    id = serializers.IntegerField(help_text="Its place in the list.")
    parent = serializers.IntegerField(  # type: ignore[assignment]  # a field, which DRF takes out of the class
        allow_null=True, help_text="What reads it; null for the last operator."
    )
    kind = serializers.CharField(help_text="Such as scan, filter, join or multi_join.")
    title = serializers.CharField()
    details = serializers.ListField(child=serializers.CharField())
    join = serializers.CharField(allow_null=True, help_text="The multi-way join that it is or becomes.")


class SubqueryInputSerializer(Document):
    name = serializers.CharField()
    rows = serializers.CharField(help_text="SQL that gives its rows.")


class ConvertedJoinSerializer(Document):
    name = serializers.CharField()
    inputs = serializers.ListField(child=serializers.CharField())
    sql = serializers.CharField(help_text="A query of Millrace.")
    subqueries = SubqueryInputSerializer(many=True)


class ConversionRequestSerializer(DraftSerializer):
    window = serializers.CharField(
        default="1 HOUR",
        max_length=64,
        help_text="Of each stream that has none, and the length of buckets of groups.",
    )


class WholeQuerySerializer(Document):
    """The text as one query over streams, or what our SQL cannot express."""

    sql = serializers.CharField(allow_null=True, help_text="null where there are problems")
    chosen = serializers.ListField(
        child=serializers.CharField(), help_text="What was decided for it, a sentence each."
    )
    left_out = ProblemSerializer(many=True, help_text="What says nothing over streams.")
    problems = ProblemSerializer(many=True)


class ConversionSerializer(Document):
    before = OperatorSerializer(many=True)
    after = OperatorSerializer(many=True)
    joins = ConvertedJoinSerializer(many=True)
    rest = serializers.CharField(help_text="What is left, over the joins' results.")
    whole = WholeQuerySerializer()


class UsedColumnSerializer(Document):
    name = serializers.CharField()
    type = serializers.CharField(allow_null=True, help_text="null where the text does not say it")


class UnregisteredTableSerializer(Document):
    name = serializers.CharField()
    columns = UsedColumnSerializer(many=True)


class UnregisteredSerializer(Document):
    """Tables that a text reads and that are neither streams nor saved queries."""

    tables = UnregisteredTableSerializer(many=True)
    undecided = serializers.ListField(
        child=serializers.CharField(),
        help_text="Columns without an alias, which several of the tables may have.",
    )


class SqlUnregistered(APIView):
    """What would have to be registered before a text can be converted."""

    reads = Reads.OWN

    @extend_schema(
        request=SqlSerializer,
        responses={
            200: UnregisteredSerializer,
            400: OpenApiResponse(ProblemsSerializer, "The text is no query."),
        },
    )
    def post(self, request: Request) -> Response:
        form = checked(SqlSerializer(data=request.data))
        found = unregistered_in(request.user, caller_of(request), form.validated_data["sql"])
        shown = {
            "tables": [
                {
                    "name": table.name,
                    "columns": [
                        {"name": column.name, "type": column.type and column.type.value}
                        for column in table.columns
                    ],
                }
                for table in found.tables
            ],
            "undecided": list(found.undecided),
        }
        return Response(UnregisteredSerializer(shown).data)


class SqlConvert(APIView):
    """A text of joins in any nesting, as plans of binary and of multi-way joins."""

    reads = Reads.OWN

    @extend_schema(
        request=ConversionRequestSerializer,
        responses={
            200: ConversionSerializer,
            400: OpenApiResponse(ProblemsSerializer, "The text has no meaning."),
        },
    )
    def post(self, request: Request) -> Response:
        form = checked(ConversionRequestSerializer(data=request.data))
        try:
            made = converted(
                request.user,
                caller_of(request),
                form.validated_data["sql"],
                form.validated_data["name"] or "query",
                form.validated_data["window"],
            )
        except InputError as error:
            raise InputErrors([error]) from None
        plans, whole = made.plans, made.whole
        shown = {
            "before": list(_listed(plans.before)),
            "after": list(_listed(plans.after)),
            "joins": [asdict(join) for join in plans.joins],
            "rest": plans.rest,
            "whole": {
                "sql": whole.sql,
                "chosen": list(whole.chosen),
                "left_out": [problem(one) for one in whole.left_out],
                "problems": [problem(one) for one in whole.problems],
            },
        }
        return Response(ConversionSerializer(shown).data)


def _listed(root: Operator) -> Iterator[dict[str, object]]:
    pending: list[tuple[Operator, int | None]] = [(root, None)]
    number = 0
    while pending:
        operator, parent = pending.pop()
        yield {
            "id": number,
            "parent": parent,
            "kind": operator.kind,
            "title": operator.title,
            "details": list(operator.details),
            "join": operator.join,
        }
        pending += [(child, number) for child in reversed(operator.inputs)]
        number += 1
