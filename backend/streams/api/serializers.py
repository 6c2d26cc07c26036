from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.accounts.api.serializers import IsServiceField
from backend.http.documents import Document, Form
from backend.streams.actions import StreamSpec
from backend.streams.api.sources import WithSources
from backend.streams.models import DAY_MS, KIND_CHOICES, NAME, Stream
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import TYPE_NAMES, TYPE_PATTERN, ColumnType, column_type
from optimizer.logical.source import CONNECTORS, SourceSettings, source_of
from optimizer.logical.stream import MOST_TASKS

BIGGEST = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""


@extend_schema_field({"type": "string", "pattern": TYPE_PATTERN, "example": "decimal(12,2)"})
class ColumnTypeField(serializers.CharField):
    """The name of a column type."""

    def to_internal_value(self, data: str) -> ColumnType:
        try:
            return column_type(super().to_internal_value(data))
        except ValueError:
            raise serializers.ValidationError(f"expected one of {', '.join(TYPE_NAMES)}") from None


class StreamColumnSerializer(Form):
    name = serializers.RegexField(
        r"\A[A-Za-z_][A-Za-z0-9_]*\Z", max_length=255, error_messages={"invalid": "letters, digits and _"}
    )
    type = ColumnTypeField()


class NamedColumnSerializer(Document):
    name = serializers.CharField()
    type = serializers.CharField()


class StreamWriteSerializer(WithSources):
    """What a request may say about a stream."""

    name = serializers.RegexField(r"\A[a-z_][a-z0-9_]{0,62}\Z", error_messages={"invalid": str(NAME.message)})
    description = serializers.CharField(allow_blank=True, default="", max_length=10_000)
    event_time = serializers.CharField(max_length=255)
    lateness_ms = serializers.IntegerField(min_value=0, max_value=BIGGEST // 1000, default=0)
    max_ahead_ms = serializers.IntegerField(
        min_value=0,
        max_value=BIGGEST,
        default=DAY_MS,
        help_text="How far ahead of its arrival a tuple's event time may lie; others are turned away.",
    )
    late = serializers.ChoiceField(choices=["drop", "join"], default="drop")
    kind = serializers.ChoiceField(
        choices=KIND_CHOICES,
        default="stream",
        help_text="The tuples of a table are versions of what its key says.",
    )
    key = serializers.ListField(
        child=serializers.CharField(max_length=255), max_length=500, default=list, help_text="Of a table."
    )
    deleted = serializers.CharField(
        max_length=255,
        allow_null=True,
        default=None,
        help_text="Of a table: the boolean column that is true of a version that deletes its key.",
    )
    parallelism = serializers.IntegerField(min_value=1, max_value=MOST_TASKS, allow_null=True, default=None)
    tuples_per_second = serializers.FloatField(min_value=0, max_value=1e12, allow_null=True, default=None)
    columns = StreamColumnSerializer(  # type: ignore[call-arg]  # `many` makes it a ListSerializer
        many=True, allow_empty=False, max_length=500
    )
    team = serializers.CharField(max_length=63, allow_null=True, default=None)

    def spec(self, present: StreamSpec | None = None) -> StreamSpec:
        """The description, completed by what is there already when this is a partial one."""
        values = {name: value for name, value in self.validated_data.items() if name != "team"}
        if "columns" in values:
            values["columns"] = tuple((c["name"], c["type"]) for c in values["columns"])
        if "key" in values:
            values["key"] = tuple(values["key"])
        given = {name: values.pop(name) for name in CONNECTORS if name in values}
        values["source"] = _source(given, None if present is None else present.source)
        if present is not None:
            names = StreamSpec.__slots__
            values = {name: values.get(name, getattr(present, name)) for name in names}
        return StreamSpec(**values)


def _source(given: Mapping[str, SourceSettings | None], kept: SourceSettings | None) -> SourceSettings | None:
    """The source as a request changes it: what does not go on from a given part goes.

    Raises `ValidationError` for parts that do not fit.
    """
    wanted = {name: settings for name, settings in given.items() if settings is not None}
    before = {} if kept is None else kept.parts()
    stay = {
        name: settings
        for name, settings in before.items()
        if name not in given
        and all(name in one.precedes or one.connector in settings.precedes for one in wanted.values())
    }
    try:
        return source_of({**stay, **wanted})
    except BadSetting as error:
        connector, _, setting = error.key.partition(".")
        text = f"{error.found} instead of {error.expected}"
        raise serializers.ValidationError({connector: {setting: text} if setting else text}) from None


class StreamPatchSerializer(StreamWriteSerializer):
    """A change of a stream; its name stays."""

    name = None  # type: ignore[assignment]  # so DRF leaves a field of the base class out


class StreamSerializer(WithSources, serializers.ModelSerializer[Stream]):
    columns = StreamColumnSerializer(many=True)
    key = serializers.ListField(child=serializers.CharField())
    owner = serializers.CharField(source="owner.username")
    owner_is_service = IsServiceField(source="owner")
    entries = serializers.SerializerMethodField(help_text="Entries in Redis; null when it is out of reach.")
    query_count = serializers.IntegerField()
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    can_edit = serializers.SerializerMethodField()

    class Meta:
        model = Stream
        fields = (
            "name",
            "description",
            "event_time",
            "lateness_ms",
            "max_ahead_ms",
            "late",
            "kind",
            "key",
            "deleted",
            "parallelism",
            "tuples_per_second",
            "columns",
            "entries",
            "query_count",
            "owner",
            "owner_is_service",
            "team",
            "can_edit",
            "created_at",
        )

    def get_entries(self, record: Stream) -> int | None:
        return cast("int | None", self.context["entries"][record.name])

    def get_can_edit(self, record: Stream) -> bool:
        return record.pk in self.context["editable"]


class StreamSampleSerializer(Document):
    columns = NamedColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))


class IngestedSerializer(Document):
    accepted = serializers.IntegerField()
    last_id = serializers.CharField(allow_null=True)


class SampleLimitSerializer(Form):
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=20)
