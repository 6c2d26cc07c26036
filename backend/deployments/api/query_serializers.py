from __future__ import annotations

from typing import Any, cast

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.accounts.api.serializers import IsServiceField
from backend.applied.api.serializers import AppliedQuerySerializer, applied
from backend.catalog.api.serializers import QueryInputSerializer, SqlField
from backend.catalog.models import Query, QueryVersion
from backend.http.documents import Form
from backend.live.api.chart import ChartSerializer
from backend.live.chart import chart_of
from backend.oracle.api.serializers import CorrectnessSerializer, correctness
from backend.streams.api.serializers import NamedColumnSerializer
from backend.topologies.query_search import deployment_of
from backend.topologies.status import STATUS_CHOICES, query_status, suspension_reason

NAME_PATTERN = r"\A[a-z][a-z0-9_-]{0,62}\Z"
NAME_MESSAGE = "lower-case letters, digits, _ and -, starting with a letter, at most 63"


class TagsField(serializers.ListField):
    child = serializers.RegexField(
        r"\A[^\s:,]{1,40}\Z",
        error_messages={"invalid": "at most 40 characters without blanks, colons and commas"},
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=20, **options)


class QueryWriteSerializer(Form):
    name = serializers.RegexField(NAME_PATTERN, error_messages={"invalid": NAME_MESSAGE})
    sql = SqlField()
    description = serializers.CharField(allow_blank=True, default="", max_length=10_000)
    tags = TagsField(default=list)


class QueryPatchSerializer(Form):
    description = serializers.CharField(allow_blank=True, max_length=10_000, required=False)
    tags = TagsField(required=False)


class QuerySerializer(serializers.ModelSerializer[Query]):
    tags = serializers.SerializerMethodField()
    owner = serializers.CharField(source="owner.username")
    owner_is_service = IsServiceField(source="owner")
    sql = serializers.CharField(source="current.sql")
    version = serializers.IntegerField(source="current.number")
    streams = serializers.SerializerMethodField()
    inputs = serializers.SerializerMethodField()
    outputs = NamedColumnSerializer(source="current.outputs", many=True)
    status = serializers.SerializerMethodField()
    suspended = serializers.SerializerMethodField()
    correctness = serializers.SerializerMethodField()
    applied = serializers.SerializerMethodField()
    topology = serializers.SerializerMethodField()
    deployed_version = serializers.SerializerMethodField()
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    favourite = serializers.SerializerMethodField()
    chart = serializers.SerializerMethodField(help_text="how its results are drawn; null without one")
    can_edit = serializers.SerializerMethodField()

    class Meta:
        model = Query
        fields = (
            "id",
            "name",
            "description",
            "tags",
            "owner",
            "owner_is_service",
            "team",
            "favourite",
            "sql",
            "version",
            "streams",
            "inputs",
            "outputs",
            "status",
            "suspended",
            "correctness",
            "applied",
            "topology",
            "deployed_version",
            "chart",
            "can_edit",
            "created_at",
            "updated_at",
        )

    def get_tags(self, record: Query) -> list[str]:
        return [tag.name for tag in record.tags.all()]

    def get_streams(self, record: Query) -> list[str]:
        return sorted({source.stream.name for source in cast(QueryVersion, record.current).inputs.all()})

    @extend_schema_field(QueryInputSerializer(many=True))
    def get_inputs(self, record: Query) -> list[dict[str, object]]:
        return [
            {"alias": source.alias, "stream": source.stream.name, "window_ms": source.window_ms}
            for source in cast(QueryVersion, record.current).inputs.all()
        ]

    @extend_schema_field(serializers.ChoiceField(choices=STATUS_CHOICES))
    def get_status(self, record: Query) -> str:
        return query_status(deployment_of(record))

    def get_suspended(self, record: Query) -> str | None:
        deployment = deployment_of(record)
        return None if deployment is None else suspension_reason(deployment)

    @extend_schema_field(CorrectnessSerializer(allow_null=True))
    def get_correctness(self, record: Query) -> object:
        return correctness(deployment_of(record))

    @extend_schema_field(AppliedQuerySerializer(allow_null=True))
    def get_applied(self, record: Query) -> object:
        return applied(record, deployment_of(record))

    def get_topology(self, record: Query) -> str | None:
        deployment = deployment_of(record)
        return None if deployment is None else deployment.topology.name

    def get_deployed_version(self, record: Query) -> int | None:
        deployment = deployment_of(record)
        return None if deployment is None else deployment.version.number

    @extend_schema_field(ChartSerializer(allow_null=True))
    def get_chart(self, record: Query) -> object:
        chart = chart_of(record)
        return None if chart is None else chart.model_dump()

    def get_can_edit(self, record: Query) -> bool:
        return record.pk in self.context["editable"]

    def get_favourite(self, record: Query) -> bool:
        return record.pk in self.context["favourites"]


class QueryVersionSerializer(serializers.ModelSerializer[QueryVersion]):
    created_by = serializers.CharField(source="created_by.username")
    created_by_is_service = IsServiceField(source="created_by")

    class Meta:
        model = QueryVersion
        fields = ("number", "sql", "created_by", "created_by_is_service", "created_at")


class TransferSerializer(Form):
    owner = serializers.CharField(max_length=150)
    team = serializers.CharField(max_length=63, allow_null=True, default=None)


class VersionWriteSerializer(Form):
    sql = SqlField()


class SearchSerializer(Form):
    search = serializers.CharField(allow_blank=True, default="", max_length=500)
