from __future__ import annotations

from typing import Any, cast

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.catalog.models import Query, QueryVersion
from backend.catalog.queries import deployment_of
from backend.documents import Document, Form
from backend.oracle.api.serializers import CorrectnessSerializer, correctness
from backend.streams.api.serializers import NamedColumnSerializer
from backend.topologies.status import STATUS_CHOICES, query_status, suspension_reason

NAME_PATTERN = r"\A[a-z][a-z0-9_-]{0,62}\Z"
NAME_MESSAGE = "lower-case letters, digits, _ and -, starting with a letter, at most 63"


class SqlField(serializers.CharField):
    """SQL text: kept as it is written; its length is a matter of `read_draft`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **options)


class QueryInputSerializer(Document):
    alias = serializers.CharField()
    stream = serializers.CharField()
    window_ms = serializers.FloatField(allow_null=True, help_text="null is unbounded")


class ProblemSerializer(Document):
    """One fault of an input: where it is, what was found there and what was expected."""

    code = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    column = serializers.IntegerField(allow_null=True)
    end_column = serializers.IntegerField(allow_null=True)
    path = serializers.CharField(allow_null=True)
    found = serializers.CharField()
    expected = serializers.CharField()
    suggestion = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class ProblemsSerializer(Document):
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # a field, which DRF takes out of the class


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
    sql = serializers.CharField(source="current.sql")
    version = serializers.IntegerField(source="current.number")
    streams = serializers.SerializerMethodField()
    inputs = serializers.SerializerMethodField()
    outputs = NamedColumnSerializer(source="current.outputs", many=True)
    status = serializers.SerializerMethodField()
    suspended = serializers.SerializerMethodField()
    correctness = serializers.SerializerMethodField()
    topology = serializers.SerializerMethodField()
    deployed_version = serializers.SerializerMethodField()
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    favourite = serializers.SerializerMethodField()
    can_edit = serializers.SerializerMethodField()

    class Meta:
        model = Query
        fields = (
            "id",
            "name",
            "description",
            "tags",
            "owner",
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
            "topology",
            "deployed_version",
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

    def get_topology(self, record: Query) -> str | None:
        deployment = deployment_of(record)
        return None if deployment is None else deployment.topology.name

    def get_deployed_version(self, record: Query) -> int | None:
        deployment = deployment_of(record)
        return None if deployment is None else deployment.version.number

    def get_can_edit(self, record: Query) -> bool:
        return record.pk in self.context["editable"]

    def get_favourite(self, record: Query) -> bool:
        return record.pk in self.context["favourites"]


class QueryVersionSerializer(serializers.ModelSerializer[QueryVersion]):
    created_by = serializers.CharField(source="created_by.username")

    class Meta:
        model = QueryVersion
        fields = ("number", "sql", "created_by", "created_at")


class TransferSerializer(Form):
    owner = serializers.CharField(max_length=150)
    team = serializers.CharField(max_length=63, allow_null=True, default=None)


class DownloadSerializer(Form):
    form = serializers.ChoiceField(choices=["csv", "json"], default="csv")


class VersionWriteSerializer(Form):
    sql = SqlField()


class SearchSerializer(Form):
    search = serializers.CharField(allow_blank=True, default="", max_length=500)


class QueryResultsSerializer(Document):
    """The newest results, newest first; `ids` and `batches` go with `rows`."""

    columns = NamedColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))
    ids = serializers.ListField(child=serializers.CharField())
    batches = serializers.ListField(child=serializers.IntegerField())


class DraftSerializer(Form):
    sql = SqlField()
    name = serializers.CharField(allow_blank=True, default="", max_length=63)


class ExplainRequestSerializer(DraftSerializer):
    topology = serializers.CharField(allow_null=True, default=None, max_length=63)


class IntervalSerializer(Document):
    """If all statistics lie low, as expected, or high."""

    low = serializers.FloatField()
    expected = serializers.FloatField()
    high = serializers.FloatField()


class ForecastStoreSerializer(Document):
    label = serializers.CharField()  # type: ignore[assignment]  # a field, which DRF takes out of the class
    kept = serializers.BooleanField(help_text="it is there already, only not for as long")
    tuples = IntervalSerializer()
    bytes = IntervalSerializer()
    measured = serializers.BooleanField(
        help_text="bytes follow what running stores take per tuple; else the columns' types"
    )


class WindowChangeSerializer(Document):
    alias = serializers.CharField()
    stream = serializers.CharField()
    present_ms = serializers.FloatField()
    proposed_ms = serializers.FloatField()


class AdviceSerializer(Document):
    """Windows that another query has already: longer ones that cost nothing more, or shorter ones that
    cost less."""

    longer = serializers.BooleanField(help_text="all are longer; else all are shorter")
    windows = WindowChangeSerializer(many=True)
    like = serializers.CharField(help_text="the query that has these windows")
    saved_probe = serializers.FloatField(help_text="tuples per second that need not be sent")
    saved_storage = serializers.FloatField(help_text="stored tuples, weighted")
    saved_percent = serializers.FloatField(help_text="of what the query adds as it stands")
    steps = serializers.IntegerField()
    shared_before = serializers.IntegerField()
    shared_after = serializers.IntegerField()


class OutlookSerializer(Document):
    topology = serializers.CharField(allow_null=True)
    stores = ForecastStoreSerializer(many=True)
    advice = AdviceSerializer(many=True)


class PreviewRequestSerializer(DraftSerializer):
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)


class PreviewSourceSerializer(Document):
    stream = serializers.CharField()
    tuples = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    whole = serializers.BooleanField(help_text="everything that lies in Redis was read")
    oldest = serializers.DateTimeField(allow_null=True)
    newest = serializers.DateTimeField(allow_null=True)


class PreviewSerializer(Document):
    """Results over recent retained tuples, those with the newest tuple first."""

    columns = NamedColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))
    more = serializers.BooleanField()
    sources = PreviewSourceSerializer(many=True)
    complete_from = serializers.DateTimeField(
        allow_null=True, help_text="results whose newest tuple is not older are all found"
    )
    seconds = serializers.FloatField()


class SqlSerializer(Document):
    sql = SqlField()


class ValidationSerializer(Document):
    ok = serializers.BooleanField()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # a field, which DRF takes out of the class
    inputs = QueryInputSerializer(many=True)
    outputs = NamedColumnSerializer(many=True)
