from __future__ import annotations

from typing import Any

from rest_framework import serializers

from backend.http.documents import Document, Form
from backend.streams.api.serializers import NamedColumnSerializer


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


class DraftSerializer(Form):
    sql = SqlField()
    name = serializers.CharField(allow_blank=True, default="", max_length=63)


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


class RetentionSerializer(Document):
    """An input whose tuples conditions on event times keep for less than its window."""

    alias = serializers.CharField()
    kept_ms = serializers.FloatField()
    because = serializers.ListField(child=serializers.CharField(), help_text="conditions and windows")


class ValidationSerializer(Document):
    ok = serializers.BooleanField()
    errors = ProblemSerializer(many=True)  # type: ignore[assignment]  # a field, which DRF takes out of the class
    hints = ProblemSerializer(many=True, help_text="what the text leaves open; nothing is refused for it")
    retentions = RetentionSerializer(many=True)
    inputs = QueryInputSerializer(many=True)
    outputs = NamedColumnSerializer(many=True)
