from __future__ import annotations

import re
from typing import Any

from rest_framework import serializers

from backend.http.documents import Document, Form

MOST_FILES = 4000
_PATH = re.compile(r"[\w.,+@ -]{1,200}(?:/[\w.,+@ -]{1,200}){0,5}")


class _FilesField(serializers.DictField):
    child = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=1_000_000)

    def to_internal_value(self, data: Any) -> dict[Any, Any]:
        if isinstance(data, dict) and len(data) > MOST_FILES:
            raise serializers.ValidationError(f"{len(data)} files instead of at most {MOST_FILES}")
        for path in data if isinstance(data, dict) else ():
            if not isinstance(path, str) or not _PATH.fullmatch(path):
                raise serializers.ValidationError(
                    f"found the path {str(path)[:80]!a}, expected names between /, of letters and digits"
                )
        return super().to_internal_value(data)


class DirectorySerializer(Form):
    """A directory of streams and queries."""

    name = serializers.RegexField(
        r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z",
        error_messages={"invalid": "letters, digits, ., _ and -, at most 63"},
        help_text="What it is called; it prunes only what was last applied under this name.",
    )
    files = _FilesField(
        help_text="Texts by path: streams.yaml and what it names, queries/NAME.sql, queries/NAME.yaml, "
        "topologies/NAME.yaml."
    )
    prune = serializers.BooleanField(
        default=False, help_text="Delete what was applied from it before and is no longer in it."
    )


class ExportRequestSerializer(Form):
    topology = serializers.CharField(max_length=63, required=False, help_text="Only its queries.")


class ExportedSerializer(Document):
    files = serializers.DictField(child=serializers.CharField())


class DifferenceSerializer(Document):
    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


ACTIONS = [(action, action) for action in ("create", "change", "delete", "keep")]


class StreamChangeSerializer(Document):
    name = serializers.CharField()
    action = serializers.ChoiceField(choices=ACTIONS)
    differences = DifferenceSerializer(many=True)
    refused = serializers.CharField(allow_null=True, help_text="Why it cannot be applied.")
    drift = serializers.ListField(child=serializers.CharField())


class JobChangeSerializer(Document):
    """How a topology's job works, and where its results go, from its next start on."""

    topology = serializers.CharField()
    action = serializers.ChoiceField(choices=ACTIONS)
    differences = DifferenceSerializer(many=True, help_text="Of a webhook's address only the host.")
    refused = serializers.CharField(allow_null=True, help_text="Why it cannot be applied.")
    drift = serializers.ListField(child=serializers.CharField())


class CompletenessSerializer(Document):
    kind = serializers.ChoiceField(
        choices=[(kind, kind) for kind in ("beginning", "at once", "since", "history", "never")]
    )
    since = serializers.DateTimeField(allow_null=True)
    text = serializers.CharField()


class QueryChangeSerializer(Document):
    name = serializers.CharField()
    action = serializers.ChoiceField(choices=ACTIONS)
    what = serializers.ListField(child=serializers.CharField(), help_text="What is done, a phrase each.")
    sql_before = serializers.CharField(allow_null=True)
    sql_after = serializers.CharField(allow_null=True)
    topology_before = serializers.CharField(allow_null=True)
    topology_after = serializers.CharField(allow_null=True)
    complete = CompletenessSerializer(allow_null=True, help_text="Null for one that is not deployed anew.")
    refused = serializers.CharField(allow_null=True, help_text="Why it cannot be applied.")
    drift = serializers.ListField(
        child=serializers.CharField(), help_text="How it differs from what was last applied."
    )


class JointCostSerializer(Document):
    cores = serializers.FloatField(help_text="Processor seconds per second.")
    gb = serializers.FloatField(help_text="Of state.")
    latency_ms = serializers.FloatField()


class QueryShareSerializer(Document):
    """What one query pays of the joint plan, shared steps and stores divided."""

    query = serializers.CharField()
    owner = serializers.CharField()
    owner_is_service = serializers.BooleanField()
    cores_before = serializers.FloatField(allow_null=True)
    cores_after = serializers.FloatField(allow_null=True)
    gb_before = serializers.FloatField(allow_null=True)
    gb_after = serializers.FloatField(allow_null=True)
    steps = serializers.IntegerField(help_text="Afterwards; so the next two.")
    shared_steps = serializers.IntegerField()
    shares_with = serializers.ListField(child=serializers.CharField())


class TopologyPlanSerializer(Document):
    name = serializers.CharField()
    queries_before = serializers.IntegerField()
    queries_after = serializers.IntegerField()
    before = JointCostSerializer(allow_null=True, help_text="Null if it answers nothing.")
    after = JointCostSerializer(allow_null=True)
    shares = QueryShareSerializer(many=True)
    refused = serializers.CharField(allow_null=True, help_text="Why its queries have no plan.")
    priced = serializers.BooleanField(help_text="False if it was too much work to plan them.")


class DirectoryPlanSerializer(Document):
    directory = serializers.CharField()
    changed = serializers.BooleanField()
    streams = StreamChangeSerializer(many=True)
    queries = QueryChangeSerializer(many=True)
    jobs = JobChangeSerializer(many=True)
    topologies = TopologyPlanSerializer(many=True)
    left = serializers.ListField(
        child=serializers.CharField(), help_text="What was applied from it before, is not in it, and stays."
    )
    refused = serializers.ListField(
        child=serializers.CharField(), help_text="Everything that stands against applying it."
    )


class AwaitedSerializer(Document):
    topology = serializers.CharField()
    revision = serializers.IntegerField()


class AppliedSerializer(Document):
    done = serializers.ListField(child=serializers.CharField(), help_text="What was done, in order.")
    awaited = AwaitedSerializer(many=True, help_text="Topologies that are planned anew.")
